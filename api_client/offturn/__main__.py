"""The console script: standard library only, so that a light install can say what a command needs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from offturn import __version__

MISSING = (
    "offturn: the command line needs the extra packages of the worker ({name} is missing).\n"
    "Install them in a clone of offturn: pip install '.[local]'   (with an embedded server), or '.[worker]'\n"
    "This install holds the client library: import offturn; see help(offturn)."
)


HTTP = ("starlette", "uvicorn")
MISSING_HTTP = (
    "offturn: `offturn {command}` needs the extra packages of the HTTP service ({name} is missing).\n"
    "Install them in a clone of offturn: pip install '.[http]'"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; exit code 2 with the remedy where its packages are not installed. arguments: else the process's."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    gc.disable()  # imports make no garbage, and looking for it took a tenth of a start
    try:
        cli = import_module("offturn_worker.cli")
    except ModuleNotFoundError as error:
        if (error.name or "offturn").startswith("offturn"):  # one of ours: a bug, and no package would help
            raise
        if given == ["--version"]:
            print(f"offturn {__version__}")  # noqa: T201 -- what was asked for
            return 0
        print(MISSING.format(name=error.name), file=sys.stderr)  # noqa: T201 -- a command line speaks on stderr
        return 0 if given in (["--help"], ["-h"]) else 2
    finally:
        gc.freeze()
        gc.enable()
    try:
        return int(cli.run(given))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in HTTP:
            raise
        print(MISSING_HTTP.format(command=given[0], name=error.name), file=sys.stderr)  # noqa: T201 -- a command line speaks on stderr
        return 2


if __name__ == "__main__":
    sys.exit(main())
