"""The action at the end of an assistant's text, where tools are called by text alone.

The declared rule of `text-observation`. A text holds an action where it ends with one of these, blanks aside:
  <function=NAME> ... <parameter=KEY>VALUE</parameter> ... </function>, the tag at the start of a line
  a fenced block without a language, or with one of `SHELLS`; it is a command for the tool `bash`
A block in another language, or one that text follows, is an example and no action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from offturn_engine.messages import Json

SHELLS = ("", "bash", "sh", "shell", "console", "mswea_bash_command")
SHELL = "bash"
COMMAND = "command"
FENCE = "```"
END = "</function>"

_TAG = re.compile(r"^<function=([^>\n]{1,200})>", re.MULTILINE)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>(.*?)</parameter>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Action:
    """A call in a text: `text[:head]` was said before it, the action starts at `start`. `label`: of its fence, or None."""

    head: int
    start: int
    name: str
    arguments: Mapping[str, str]
    label: str | None

    def written(self, arguments: Json) -> str:
        """The action with other arguments. Raises ValueError for those its notation cannot hold."""
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            raise ValueError("the arguments of an action are texts by name")
        if self.label is None:
            return function(self.name, arguments)
        if arguments.keys() != {COMMAND}:
            raise ValueError("the argument of a fenced action is its command")
        return f"{FENCE}{self.label}\n{arguments[COMMAND]}\n{FENCE}"


def action_in(text: str) -> Action | None:
    """The action a text ends with."""
    body = text.rstrip()
    if body.endswith(END):
        tag = _TAG.search(body)
        if tag is None:
            return None
        found = {key: _value(value) for key, value in _PARAMETER.findall(body, tag.end())}
        return Action(len(body[: tag.start()].rstrip()), tag.start(), tag[1], found, None)
    return _fenced(body) if body.endswith(FENCE) else None


def _fenced(body: str) -> Action | None:
    close = body.rfind("\n") + 1
    if body[close:] != FENCE:
        return None
    start = body.rfind(f"\n{FENCE}", 0, max(0, close - 1)) + 1
    if not body.startswith(FENCE, start) or start == close:
        return None
    line = body.find("\n", start)
    label, command = body[start + len(FENCE) : line].strip(), body[line + 1 : close - 1]
    if label not in SHELLS or not command.strip():
        return None
    return Action(len(body[:start].rstrip()), start, SHELL, {COMMAND: command}, label)


def function(name: str, arguments: Mapping[str, Json]) -> str:
    """An action in the notation of tags; values that are no text as JSON."""
    told = [f"<parameter={key}>{_shown(value)}</parameter>" for key, value in arguments.items()]
    return "\n".join([f"<function={name}>", *told, END])


def _value(text: str) -> str:
    return text.removeprefix("\n").removesuffix("\n")


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"\n{text}\n" if "\n" in text else text
