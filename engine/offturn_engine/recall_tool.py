"""The recall tool in each dialect: its definition, what a model's call asks for, and the tool result that answers it.

Shapes as the SDKs type them: openai 3.57 (`ChatCompletionFunctionToolParam`, `FunctionToolParam`), anthropic 2.14
(`ToolParam`, `ToolResultBlockParam`), google-genai 3.6 (`Tool`, `Part`). A call is theirs too, as an object or as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from offturn_engine.errors import UnknownFormat
from offturn_engine.formats import plain
from offturn_engine.formats._actions import COMMAND, SHELL, action_in
from offturn_engine.handles import parse_handle, parse_ranges
from offturn_engine.messages import Json
from offturn_engine.recalling import TOOL, USAGE, Asked

DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini", "text")
TEXT_FORMATS = ("text", "text-observation")
_AROUND = "[](){}<>`'\".,:; "

DESCRIPTION = (
    "Reads again what was shortened or summarised in this conversation: the full text behind a handle such as m181, "
    "which stands where something was left out, or the earlier messages that hold some words."
)
PARAMETERS: Json = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "m181, m181.2 for one part, or m3-m40 for several messages."},
        "query": {
            "type": "string",
            "description": 'Words to search for, where no handle is known; "quotes" around an exact phrase.',
        },
        "start": {"type": "integer", "description": "The first character wanted of a long text; 0 where left out."},
    },
}
INSTRUCTIONS = f"""{DESCRIPTION} To do so, end your message with

<function={TOOL}>
<parameter=handle>m181</parameter>
</function>

The parameters: handle ({PARAMETERS["properties"]["handle"]["description"]}), or query \
({PARAMETERS["properties"]["query"]["description"]}), and start ({PARAMETERS["properties"]["start"]["description"]})."""


def checked_dialect(name: object) -> str:
    """The dialect of a format's name. Raises UnknownFormat."""
    dialect = "text" if name in TEXT_FORMATS else name
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise UnknownFormat(f"no recall tool for format {name!r:.40}: use one of {', '.join(DIALECTS)}")
    return dialect


def definition(dialect: str) -> Json:
    """What the host adds to its list of tools; for `text`, to its system prompt."""
    function = {"name": TOOL, "description": DESCRIPTION, "parameters": PARAMETERS}
    match dialect:
        case "openai-chat":
            return {"type": "function", "function": function}
        case "openai-responses":
            return {"type": "function", **function, "strict": False}
        case "anthropic":
            return {"name": TOOL, "description": DESCRIPTION, "input_schema": PARAMETERS}
        case "gemini":
            return {"function_declarations": [{**function, "parameters": _upper(PARAMETERS)}]}
    return INSTRUCTIONS


def asked(dialect: str, call: Json) -> tuple[str, Asked]:
    """The call's id and what it asks for. Whatever a model sends is an answer to it, never an exception."""
    if dialect == "text":
        return "", _of_text(call)
    value = _inner(_mapping(plain(call)), dialect)
    if not value:
        return "", Asked(problem=f"The call is a {type(call).__name__}. {USAGE}")
    call_id = value.get("call_id") or value.get("id")
    given: Json = next((value[key] for key in ("arguments", "input", "args") if value.get(key) is not None), {})
    name = value.get("name")
    if isinstance(name, str) and name != TOOL:
        return _text(call_id), Asked(problem=f"There is no tool {name[:60]!r} here. {USAGE}")
    return _text(call_id), _of_arguments(given)


def result(dialect: str, call_id: str, text: str, *, error: bool) -> Json:
    """The tool result as the host sends and records it; for `text`, the text. Of gemini a part of a content."""
    match dialect:
        case "openai-chat":
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": call_id, "output": text}
        case "anthropic":
            failed = {"is_error": True} if error else {}
            return {"type": "tool_result", "tool_use_id": call_id, "content": text, **failed}
        case "gemini":
            named = {"id": call_id} if call_id else {}
            return {
                "function_response": {**named, "name": TOOL, "response": {"error" if error else "output": text}},
            }
    return text


def _inner(value: Mapping[str, Any], dialect: str) -> Mapping[str, Any]:
    """The call inside what names it: a function beside its id, a part of gemini."""
    if dialect == "openai-chat":
        function = _mapping(value.get("function"))
        return {**function, "id": value.get("id")} if function else value
    if dialect == "gemini":
        return _mapping(value.get("functionCall") or value.get("function_call")) or value
    return value


def _mapping(value: Json) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_arguments(given: Json) -> Asked:
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):  # the latter where it is nested too deep
            return Asked(problem=f"The arguments are not JSON. {USAGE}")
    if not isinstance(given, Mapping):
        return Asked(problem=f"The arguments are no object. {USAGE}")
    query, start = _text(given.get("query")).strip(), _start(given.get("start"))
    return Asked(_handle(given.get("handle"), query), query, start=start)


def _handle(value: Json, query: str) -> str:
    """The handle that is meant: `M181`, `m181.` and 181 are m181; "" for what is none where there are words to search for."""
    text = _text(value).strip()
    bare = text.strip(_AROUND).lower()
    bare = f"m{bare}" if bare.isascii() and bare.isdecimal() else bare
    if parse_handle(bare) is not None or parse_ranges(bare) is not None:
        return bare
    return "" if query else text


def _of_text(call: Json) -> Asked:
    """An action that ends a message, as told in `INSTRUCTIONS` or as a shell command; else a handle, or words."""
    if not isinstance(call, str):
        return Asked(problem=f"The call is a {type(call).__name__}. {USAGE}")
    action = action_in(call)
    if action is not None and action.name == TOOL:
        return _of_arguments(action.arguments)
    words = action.arguments.get(COMMAND, "") if action is not None and action.name == SHELL else call
    words = words.strip().removeprefix(TOOL).strip()
    named = parse_handle(words) is not None or parse_ranges(words) is not None
    return Asked(handle=words) if named else Asked(query=words)


def _start(value: Json) -> int:
    try:
        return max(0, int(value or 0))
    except (TypeError, ValueError, OverflowError):
        return 0


def _text(value: Json) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists nested too deep
        return f"a {type(value).__name__}"


def _upper(schema: Json) -> Json:
    """The schema with the names of types that Gemini's API has."""
    if isinstance(schema, dict):
        return {k: v.upper() if k == "type" and isinstance(v, str) else _upper(v) for k, v in schema.items()}
    return schema
