"""The root of every offturn error, and the errors of configuration.

    OffturnError
    └── ConfigError
        ├── UnknownPolicy      no preset has that name
        ├── InvalidPolicy      a parameter, or a combination of them, that cannot work
        └── InvalidSetting     an environment variable, URL or argument that cannot work

Each message names the field, the value and the remedy. None carries session content.
"""


class OffturnError(Exception):
    """Base of everything offturn raises. `retryable` says whether the same call may succeed later."""

    retryable = False


class ConfigError(OffturnError):
    """Something was configured that cannot work. Exit code 2 on the command line."""


class UnknownPolicy(ConfigError):
    """No preset has that name; the message lists those that exist."""


class InvalidPolicy(ConfigError):
    """A policy's parameters cannot work together; the message holds the numbers."""


class InvalidSetting(ConfigError):
    """A setting cannot work; the message names it, its value (never a secret) and the remedy."""
