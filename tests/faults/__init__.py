"""Faults of whole processes: workers killed and frozen, stores that vanish, models and queues that misbehave."""
