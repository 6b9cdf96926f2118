"""Tests; a package so that suites may share modules."""
