"""`python -m offturn_worker`: the same as `offturn worker`, for pods."""

import sys

from offturn_worker.cli import run

if __name__ == "__main__":
    sys.exit(run(["worker", *sys.argv[1:]]))
