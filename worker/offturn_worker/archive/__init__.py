"""Idle sessions in an object store: written, verified, evicted, and brought back when a host wants them."""
