"""The command line `offturn`."""

from offturn_worker.cli.main import run

__all__ = ["run"]
