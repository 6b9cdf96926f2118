"""Rows of OpenCode's second generation of storage (`session_message`) as the messages and parts of the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from offturn_engine.files.reader import objects
from offturn_engine.files.values import fields, listed
from offturn_engine.messages import Json

TYPES = ("user", "assistant", "system", "synthetic", "skill", "shell", "compaction", "agent-switched", "model-switched")
HOST = ("system", "synthetic", "skill")
"""Texts the host put in."""


def is_row(value: Mapping[str, Any]) -> bool:
    """Whether a record is such a row: its data, with its id, session and type beside."""
    return "sessionID" in value and value.get("type") in TYPES and "messageID" not in value and "role" not in value


def documents(row: Mapping[str, Any]) -> Iterator[dict[str, Json]]:
    """Messages, each followed by its parts; none for what only says that an agent or a model changed."""
    kind, id_ = row["type"], str(row.get("id"))
    if kind == "user":
        files = [{"type": "file", **_file(f)} for f in objects(listed(row.get("files")))]
        yield from _message(row, id_, "user", [{"type": "text", "text": row.get("text")}, *files])
    elif kind in HOST:
        yield from _message(row, id_, "user", [{"type": "text", "text": row.get("text"), "synthetic": True}])
    elif kind == "assistant":
        parts = [_content(item) for item in objects(listed(row.get("content")))]
        yield from _message(row, id_, "assistant", parts, tokens=row.get("tokens"))
    elif kind == "shell":
        yield from _message(row, id_, "assistant", [_shell(row, id_)])
    elif kind == "compaction" and row.get("status", "completed") == "completed":
        yield from _message(row, id_, "user", [{"type": "compaction"}])
        texts = (str(row[key]) for key in ("summary", "recent") if row.get(key))
        summary = {"type": "text", "text": "\n\n".join(texts)}
        yield from _message(row, f"{id_}:summary", "assistant", [summary], summary=True, parentID=id_, finish="stop")


def _message(
    row: Mapping[str, Any], id_: str, role: str, parts: list[dict[str, Json]], **info: Json
) -> Iterator[dict[str, Json]]:
    yield {"id": id_, "sessionID": row["sessionID"], "role": role, **info}
    for i, part in enumerate(parts):
        yield {**part, "id": f"{id_}:{i}", "messageID": id_, "sessionID": row["sessionID"]}


def _content(item: Mapping[str, Any]) -> dict[str, Json]:
    if item.get("type") == "reasoning":
        return {**item, "metadata": item.get("providerMetadata")}
    if item.get("type") != "tool":
        return dict(item)
    state, time = fields(item.get("state")), fields(item.get("time"))
    said = objects(listed(state.get("content")))
    error = state.get("error")
    made: dict[str, Json] = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": "\n".join(str(c.get("text") or "") for c in said if c.get("type") == "text"),
        "attachments": [
            _file(c) for c in [*said, *objects(listed(state.get("attachments")))] if c.get("type") != "text"
        ],
        "error": error.get("message") if isinstance(error, dict) else error,
        "time": {"compacted": time.get("pruned")},
    }
    return {"type": "tool", "callID": item.get("id"), "tool": item.get("name"), "state": made}


def _shell(row: Mapping[str, Any], id_: str) -> dict[str, Json]:
    """A command the user ran."""
    output = row.get("output")
    text = output.get("output") if isinstance(output, dict) else output
    state = {"status": "completed", "input": {"command": row.get("command")}, "output": text}
    return {"type": "tool", "callID": row.get("callID") or row.get("shellID") or id_, "tool": "bash", "state": state}


def _file(file: Mapping[str, Any]) -> dict[str, Json]:
    url = file.get("uri") or file.get("url")
    if isinstance(file.get("data"), str):
        url = f"data:{file.get('mime')};base64,{file['data']}"
    return {"mime": file.get("mime"), "filename": file.get("name"), "url": url}
