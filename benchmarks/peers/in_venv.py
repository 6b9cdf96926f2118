"""Runs inside a peer's virtual environment: the histories its driver makes, as JSON.

python in_venv.py DRIVER '[[messages, seed], ...]'
"""

from __future__ import annotations

import importlib.util
import json
import sys


def main(driver: str, wanted: str) -> None:
    """Print {"summary": characters of the driver's stub, "histories": [...]}."""
    spec = importlib.util.spec_from_file_location("driver", driver)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    histories = [module.history(messages, seed=seed) for messages, seed in json.loads(wanted)]
    print(json.dumps({"summary": len(module.STUB_SUMMARY), "histories": histories}))


if __name__ == "__main__":
    main(*sys.argv[1:])
