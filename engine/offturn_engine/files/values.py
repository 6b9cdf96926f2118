"""Values of a file as the types a reader expects: what is something else counts as not there."""

from __future__ import annotations

import re
from typing import Any

from offturn_engine.messages import Json

_NAME = re.compile(r"[A-Za-z][\w.-]{0,40}")


def text(value: Json) -> str:
    """A string; else ""."""
    return value if isinstance(value, str) else ""


def count(value: Json) -> int:
    """A number of things, 0 or more; else 0."""
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


def fields(value: Json) -> dict[str, Any]:
    """An object; else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    """A list; else an empty one."""
    return value if isinstance(value, list) else []


def name(value: Json) -> str:
    """The name of a type or role, fit for a note; `untyped` for what may be content."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else "untyped"
