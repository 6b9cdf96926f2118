"""A real model server behind both summarizers: opt-in, `make test-llm`."""
