"""A small Claude Code session: lines as the host writes them, one for each block of a message."""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]
USAGE = {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500, "output_tokens": 9}


def line(kind: str, uuid: str, parent: str | None, **fields: Any) -> Raw:
    beside = {"sessionId": "s1", "isSidechain": False, "cwd": "/project", "userType": "external"}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, **beside, **fields}


def user(uuid: str, parent: str | None, content: Any, **fields: Any) -> Raw:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def assistant(uuid: str, parent: str | None, *blocks: Raw, id_: str, **fields: Any) -> Raw:
    message = {"id": id_, "type": "message", "role": "assistant", "content": list(blocks), "usage": USAGE}
    return line("assistant", uuid, parent, message=message, **fields)


def text(value: str) -> Raw:
    return {"type": "text", "text": value}


def thinking(signature: str = "sig") -> Raw:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def call(id_: str) -> Raw:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": "ls"}}


def result(id_: str, value: str = "out") -> list[Raw]:
    return [{"type": "tool_result", "tool_use_id": id_, "content": value}]


def parallel(prefix: str = "", start: str | None = None) -> list[Raw]:
    """One message on three lines, two calls at once, each answered on a branch of its own; then a reply."""
    p = prefix
    return [
        user(f"{p}1", start, "look around"),
        assistant(f"{p}2", f"{p}1", thinking(), id_="m1"),
        assistant(f"{p}3", f"{p}2", call("t1"), id_="m1"),
        line("progress", f"{p}p", f"{p}3", data={"type": "bash_progress", "output": "…"}),
        assistant(f"{p}4", f"{p}3", call("t2"), id_="m1"),
        user(f"{p}5", f"{p}3", result("t1", "one"), toolUseResult={"stdout": "one" * 99}),
        user(f"{p}6", f"{p}4", result("t2", "two"), toolUseResult={"stdout": "two" * 99}),
        assistant(f"{p}7", f"{p}6", text("two files"), id_="m2"),
    ]


def compaction(at: str, number: Any = 1, summary: str = "what was done", **about: Any) -> list[Raw]:
    """The line that marks it, and the summary after it."""
    boundary = line(
        "system",
        f"b{number}",
        None,
        subtype="compact_boundary",
        logicalParentUuid=at,
        content="Conversation compacted",
        compactMetadata={"trigger": "auto", "preTokens": 150_000, **about},
    )
    told = user(f"c{number}", f"b{number}", summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    return [boundary, told]


def flat(*messages: Raw) -> list[Raw]:
    """Records of an export: without the tree."""
    return [{"type": message["role"], "message": message} for message in messages]
