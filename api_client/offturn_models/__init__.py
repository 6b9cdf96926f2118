"""Clients for model APIs: `anthropic`, `openai`, and the `route` that names and tries them. No SDK loads on import."""
