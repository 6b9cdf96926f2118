"""`python -m offturn_worker`: the same as `offturn worker`, for pods."""

import sys

from offturn.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["worker", *sys.argv[1:]]))
