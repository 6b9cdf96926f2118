"""The session protocol: a model, and the real scripts played beside it."""
