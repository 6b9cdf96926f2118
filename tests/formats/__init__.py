"""docs/formats.md: every recorded transcript through every policy. `make formats` writes it."""
