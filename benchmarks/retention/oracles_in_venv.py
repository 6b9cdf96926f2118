"""Runs inside an oracle's own environment: its verdicts on what the parent sends. Nothing of offturn is imported here.

    python oracles_in_venv.py tessera-transcript|compaction-guard < JSON > JSON

tessera: [{"format": name, "messages": [...]}, ...] to [defects, ...], null where it does not know the list. guard:
[{"text": text, "facts": [sentence, ...]}, ...] to [[verdict, ...], ...].
"""

from __future__ import annotations

import json
import sys
from typing import Any

ADAPTERS = {"openai-chat": "openai", "anthropic": "anthropic"}


def tessera(asked: list[dict[str, Any]]) -> list[Any]:
    from tessera import inspect

    found = []
    for one in asked:
        try:
            report = inspect(one["messages"], adapter=ADAPTERS.get(one["format"]))
        except ValueError:  # among them its errors about lists it does not know
            found.append(None)
            continue
        found.append(sorted({finding.defect.value for finding in report.findings}))
    return found


def guard(asked: list[dict[str, Any]]) -> list[Any]:
    from compaction_guard import Invariant, check

    return [
        [
            finding.kind.value
            for finding in check(
                [Invariant.parse(f, id=str(i)) for i, f in enumerate(one["facts"])], one["text"]
            ).findings
        ]
        for one in asked
    ]


ORACLES = {"tessera-transcript": tessera, "compaction-guard": guard}

json.dump(ORACLES[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
