"""offturn in agent frameworks: each example runs against the framework itself, without a network."""
