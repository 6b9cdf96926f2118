"""offturn in agent frameworks: one module each, which imports its framework when it is imported itself.

`offturn.adapters.openai_agents`, `.langchain`, `.pydantic_ai` and `.hermes`. Each takes sessions that you open as
everywhere else, and works with the release of its framework that the tests install.
"""
