"""The new formats over recorded sessions: who speaks in text-observation chats, and all promises over their views."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offturn_config.presets import load, names
from offturn_engine import formats
from offturn_engine.compaction import NOTHING
from offturn_engine.invariants import Shown, violations
from offturn_engine.ledger import ledger
from offturn_engine.plan import emergency

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts"
pytestmark = pytest.mark.skipif(
    not TRANSCRIPTS.is_dir(), reason="needs the folder shared/transcripts beside the repository"
)

CHATS = {
    "miniswe_github_issue.json": 10,
    "swesmith_ftxml_0.json": 36,
    "swesmith_ftxml_2.json": 21,
    "swesmith_adp_0.json": 14,
    "swesmith_adp_4.json": 37,
    "sweagent_ctf_forensics_flash.traj.json": 3,
    "sweagent_ctf_crypto_katy.traj.json": 17,
}
"""Files, and how many of their user messages are what a tool printed: all but the task."""


def chat(name: str) -> list[dict[str, Any]]:
    value = json.loads((TRANSCRIPTS / name).read_text())
    listed = value if isinstance(value, list) else value.get("messages") or value["history"]
    return [{"role": raw["role"], "content": raw["content"]} for raw in listed]


@pytest.mark.parametrize(("name", "observations"), CHATS.items())
def test_of_the_user_messages_only_the_task_is_a_humans(name: str, observations: int) -> None:
    path = formats.parse_all(formats.get("text-observation"), chat(name))
    assert Counter(m.origin for m in path if m.role == "user") == {"human": 1, "tool": observations}
    assert all(m.calls for m in path if m.role == "assistant")
    assert any(item.kind == "command" for item in ledger(path))


@pytest.mark.parametrize("policy", names())
def test_every_policy_keeps_the_promises_over_them(policy: str) -> None:
    rules = load(policy)
    fmt = formats.get("text-observation", rules.trigger.estimator)
    for name in ("swesmith_adp_4.json", "swesmith_ftxml_0.json"):
        path = formats.parse_all(fmt, chat(name))
        third = sum(m.tokens for m in path) // 3
        limits = replace(rules.limits(200_000, 20_000), usable=third, tail=third // 4, human=third // 4)
        made = emergency(path, NOTHING, fmt, policy=rules, limits=limits)
        assert violations(Shown(path, made.compaction, made.rendering, fmt)) == {}
        assert made.rendering.tokens <= third


def test_recorded_items_of_the_responses_api_are_kept_as_they_came() -> None:
    fmt, kinds = formats.get("openai-responses"), Counter[str]()
    for line in (TRANSCRIPTS / "codex_stage0_compacted.jsonl").read_text().splitlines():
        record = json.loads(line)
        kept = record["payload"].get("replacement_history") or []
        for item in [record["payload"]] if record["type"] == "response_item" else kept:
            if isinstance(item.get("output"), dict) or item.get("arguments", "") is None:
                continue  # what this host keeps, and the API never saw
            message = fmt.parse(item)
            assert message.raw == item
            kinds[item["type"]] += 1
    assert {"reasoning", "compaction", "custom_tool_call_output", "ghost_snapshot", "web_search_call"} <= kinds.keys()
