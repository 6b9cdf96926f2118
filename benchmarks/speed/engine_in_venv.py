"""Runs inside the peer's virtual environment, for as long as its input lasts: what its compressor costs.

python engine_in_venv.py DRIVER. Each line of input is {"history": FILE, "more": FILE, "window": tokens, "delay": seconds};
each line of output the CPU seconds of a first compaction and how long its caller waited, with a model that answers after
the delay (0 where there is none), and, where there is more, the CPU seconds of a second once that has followed:
{"first": s, "waited": s, "again": s}.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

BRIDGE = {"role": "assistant", "content": "Done; next."}
WARM = 400  # messages


def main(driver: str) -> None:
    spec = importlib.util.spec_from_file_location("driver", driver)
    assert spec is not None
    assert spec.loader is not None
    answers, sys.stdout = sys.stdout, Path(os.devnull).open("w")  # noqa: SIM115 - the package talks
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    warm = {"history": module.history(WARM), "more": [], "window": 200_000, "delay": 0.0}
    _timed(module, warm)  # no pattern is compiled while a clock runs
    for line in sys.stdin:
        asked = {"more": None, "delay": 0.0, **json.loads(line)}
        given = {name: _read(asked[name]) for name in ("history", "more")}
        print(json.dumps(_timed(module, {**asked, **given})), file=answers, flush=True)


def _timed(module: Any, asked: dict[str, Any]) -> dict[str, float]:
    usage = SimpleNamespace(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    message = SimpleNamespace(content=module.STUB_SUMMARY, reasoning_content=None, tool_calls=None)
    reply = SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=usage, model="stub")

    def call(**_: Any) -> Any:
        time.sleep(asked["delay"])
        return reply

    module.cc.call_llm = call
    compressor = module.ContextCompressor(model="gpt-4o", config_context_length=asked["window"], quiet_mode=True)
    given = copy.deepcopy(asked["history"])
    clock, began = time.perf_counter(), time.process_time()
    made = compressor.compress(given, current_tokens=module.est(given), force=True)
    found = {"first": time.process_time() - began, "waited": time.perf_counter() - clock}
    if asked["more"] is None:
        return found
    following = [*made, BRIDGE, *asked["more"]]
    began = time.process_time()
    compressor.compress(following, current_tokens=module.est(following), force=True)
    return {**found, "again": time.process_time() - began}


def _read(file: str | None) -> Any:
    return None if file is None else json.loads(Path(file).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(sys.argv[1])
