"""Runs in a process of its own, for as long as its input lasts: what our compaction costs.

python -m benchmarks.speed.engine_apart. Each line of input is {"history": FILE, "more": FILE, "window": tokens, "way": W};
each line of output what that way cost. Every answer is measured in a fork that has compacted another history, because at
its first write to a page a fork pays for a copy, as no worker does. Then it has parsed the messages and done nothing else
with them, so that whatever is kept from one compaction to the next is cold in the first and warm in the second.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers.hermes import PRESET
from benchmarks.peers.histories import history
from benchmarks.peers.ours import BRIDGE

from offturn.asking import inputs_wanted
from offturn_config.policy import Policy
from offturn_config.presets import load
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import Candidate
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Summarise, apply, plan
from offturn_engine.templates import TEMPLATES

FORMAT = "openai-chat"
LEDGER = load("balanced").model_copy(update={"gate": "always_summarise"})  # else pruning alone does for a short history
SUMMARY = 5_000  # characters
WARM = 400  # messages of another history, so that no pattern is compiled while a clock runs


def main() -> None:
    """Answer line by line."""
    warm = history(WARM, 1)
    _warmed(warm)
    held: tuple[str, list[Any]] = "", []
    parsing = 0.0
    for line in sys.stdin:
        asked = json.loads(line)
        if held[0] != asked["history"]:
            held = asked["history"], json.loads(Path(asked["history"]).read_text(encoding="utf-8"))
            began = time.process_time()
            parse_all(get(FORMAT), held[1])
            parsing = time.process_time() - began
            gc.collect()
        _forked(partial(_answer, warm, held[1], asked), parsing)


def _warmed(other: list[Any]) -> None:
    path = parse_all(get(FORMAT), other)
    for policy in (LEDGER, load(PRESET)):
        compacted(path, NOTHING, policy, 200_000)


def _answer(other: list[Any], raw: list[Any], asked: dict[str, Any]) -> dict[str, Any]:
    _warmed(other)
    path = parse_all(get(FORMAT), raw)
    gc.collect()
    return WAYS[asked["way"]](raw, path, asked)


def compacted(path: Sequence[Message], base: Compaction, policy: Policy, window: int) -> Candidate:
    """One compaction with a model that answers at once."""
    found = plan(path, base, get(FORMAT), policy=policy, limits=policy.limits(window), reason="manual")
    if isinstance(found, PruneOnly):
        return found.candidate
    assert isinstance(found, Summarise), found
    inputs_wanted(found, window)
    title = TEMPLATES[policy.summary.template].titles[0]
    written = Sections(template=policy.summary.template, titles=(title,), bodies=("word " * (SUMMARY // 5),))
    return apply(found, written)


def _same(_: list[Any], path: list[Message], asked: dict[str, Any]) -> dict[str, Any]:
    """Under the preset that follows the peer."""
    return {"same": _cpu(lambda: compacted(path, NOTHING, load(PRESET), asked["window"]))[0]}


def _shown(_: list[Any], path: list[Message], asked: dict[str, Any]) -> dict[str, Any]:
    """What the model is shown after a first compaction."""
    cold, made = _cpu(lambda: compacted(path, NOTHING, LEDGER, asked["window"]))
    return {"cold": cold, "messages": list(made.rendering.messages)}


def _cold(_: list[Any], path: list[Message], asked: dict[str, Any]) -> dict[str, Any]:
    """A first compaction with our ledger."""
    return {"cold": _cpu(lambda: compacted(path, NOTHING, LEDGER, asked["window"]))[0]}


def _ledger(raw: list[Any], path: list[Message], asked: dict[str, Any]) -> dict[str, Any]:
    """The same, and a second compaction once more has followed, of messages that are parsed anew as its job reads them."""
    cold, first = _cpu(lambda: compacted(path, NOTHING, LEDGER, asked["window"]))
    base = first.compaction.model_copy(update={"number": 1})
    more = json.loads(Path(asked["more"]).read_text(encoding="utf-8"))
    whole = parse_all(get(FORMAT), [*raw, BRIDGE, *more])
    second, _ = _cpu(lambda: compacted(whole, base, LEDGER, asked["window"]))
    return {"cold": cold, "second": second}


def _memory(raw: list[Any], path: list[Message], asked: dict[str, Any]) -> dict[str, Any]:
    """Bytes allocated at once, beside what the parsed messages hold; and of what is made: the record and the view."""
    tracemalloc.start()
    made = compacted(path, NOTHING, LEDGER, asked["window"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    record, view = (
        len(text.encode()) for text in (made.compaction.model_dump_json(), json.dumps(made.rendering.messages))
    )
    return {"peak": peak, "record": record, "view": view, "transcript": sum(len(json.dumps(m)) for m in raw)}


WAYS: dict[str, Callable[[list[Any], list[Message], dict[str, Any]], dict[str, Any]]] = {
    "same": _same,
    "cold": _cold,
    "ledger": _ledger,
    "memory": _memory,
    "shown": _shown,
}


def _cpu(work: Callable[[], Candidate]) -> tuple[float, Candidate]:
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def _forked(work: Callable[[], dict[str, Any]], parsing: float) -> None:
    """Print the answer of a child, and the seconds that parsing took."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            print(json.dumps({"parse": parsing, **work()}), flush=True)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("a compaction did not end well")


if __name__ == "__main__":
    main()
