"""Tests of the readers of transcript files, a module each."""
