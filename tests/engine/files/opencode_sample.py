"""A small OpenCode session: what its parts can be, a sub-agent, and two compactions of which one failed."""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]
ENDED = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 100, "write": 20}}
PIXEL = "data:image/png;base64,AAAA"


def message(number: int, role: str, *parts: Raw, session: str = "ses_1", **info: Any) -> Raw:
    """A message as an export holds it, with ids of its own for message and parts."""
    id_ = f"msg_{number:02}"
    ids = {"messageID": id_, "sessionID": session}
    made = [{"id": f"prt_{number:02}_{i}", **ids, **part} for i, part in enumerate(parts)]
    return {"info": {"id": id_, "sessionID": session, "role": role, **info}, "parts": made}


def text(value: str, **fields: Any) -> Raw:
    return {"type": "text", "text": value, **fields}


def tool(call: str, status: str, **state: Any) -> Raw:
    return {"type": "tool", "callID": call, "tool": "bash", "state": {"status": status, "input": {}, **state}}


SESSION: Raw = {"id": "ses_1", "title": "Port the parser", "directory": "/project"}
SUB: Raw = {"id": "ses_2", "title": "Look around", "parentID": "ses_1"}

FIRST = message(
    1,
    "user",
    text("port the parser"),
    {"type": "file", "mime": "image/png", "url": PIXEL},
    {"type": "file", "mime": "text/plain", "url": "file:///project/a.py"},
    text("<file>a.py</file>", synthetic=True),
    text("seen by the user only", ignored=True),
    summary={"diffs": []},
)
WORKED = message(
    2,
    "assistant",
    {"type": "step-start"},
    {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}},
    text("I look."),
    tool("c1", "completed", output="a.py", metadata={"diff": "x" * 99}, time={"start": 1, "end": 2, "compacted": 3}),
    tool("c2", "error", error="no such file"),
    tool("c3", "error", error="aborted", metadata={"interrupted": True, "output": "half"}),
    {"type": "step-finish", "tokens": ENDED},
    {"type": "step-start"},
    {"type": "reasoning", "text": "no signature"},
    tool("c4", "completed", output="shot", attachments=[{"type": "file", "mime": "image/png", "url": PIXEL}]),
    {"type": "step-finish", "tokens": ENDED | {"input": 30}},
    {"type": "patch", "hash": "h", "files": ["a.py"]},
    parentID="msg_01",
    tokens=ENDED | {"input": 30},
    finish="tool-calls",
)
FAILED = message(3, "assistant", text("lost"), error={"name": "APIError"}, parentID="msg_01")
ASKED = message(4, "user", {"type": "compaction", "auto": True})
REFUSED = message(5, "assistant", text("half a sum"), summary=True, error={"name": "X"}, parentID="msg_04")
AGAIN = message(6, "user", {"type": "compaction", "auto": True, "tail_start_id": "msg_02"})
SUMMED = message(7, "assistant", text("Goal: port."), summary=True, finish="stop", parentID="msg_06")
CONTINUED = message(8, "user", text("Continue.", synthetic=True, metadata={"compaction_continue": True}))
RUNNING = message(9, "assistant", text("Going on."), tool("c5", "running"), tool("c6", "pending"))
LAST = message(10, "user", text("stop"))
CHILD = message(11, "user", text("look around"), session="ses_2")

MESSAGES = [FIRST, WORKED, FAILED, ASKED, REFUSED, AGAIN, SUMMED, CONTINUED, RUNNING, LAST]
EXPORT: Raw = {"info": SESSION, "messages": MESSAGES}


def documents(messages: list[Raw]) -> list[Raw]:
    """Messages and parts each as a document of its own."""
    return [document for m in messages for document in (m["info"], *m["parts"])]


def events() -> list[Raw]:
    """The session as OpenCode tells it, wrapped as a recorder wrote it down."""
    told: list[Raw] = [{"type": "session.created", "properties": {"info": SESSION}}]
    told.append({"type": "session.status", "properties": {"sessionID": "ses_1", "status": {"type": "busy"}}})
    for m in MESSAGES:
        told.append({"type": "message.updated", "properties": {"info": m["info"]}})
        for part in m["parts"]:
            if part["type"] == "text":
                begun = {**part, "text": ""}
                told.append({"type": "message.part.updated", "properties": {"part": begun}})
                delta = {"messageID": part["messageID"], "sessionID": "ses_1", "partID": part["id"], "field": "text"}
                told += [{"type": "message.part.delta", "properties": delta | {"delta": x}} for x in part["text"]]
            told.append({"type": "message.part.updated", "properties": {"part": part}})
    return [{"timestamp": i, "event": event} for i, event in enumerate(told)]
