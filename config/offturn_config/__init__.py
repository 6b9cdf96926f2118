"""Policies, settings and Redis key names: what every other package may import and what imports none of them."""
