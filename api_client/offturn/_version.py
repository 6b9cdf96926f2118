"""The release of the installed distribution."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("offturn")
except PackageNotFoundError:  # sources on the path, nothing installed
    __version__ = "unknown"
