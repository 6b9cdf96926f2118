"""Examples of the OpenAPI document: what the service was asked once, and answered. A test keeps them so (`tests/http/test_examples.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
from pydantic import BaseModel


class Example(BaseModel):
    """id: of the session in the path, "" where it has none; media and answer: what came back."""

    operation: str
    id: str
    query: Mapping[str, Any]
    body: Any
    status: int
    media: str
    answer: Any


@cache
def examples() -> Mapping[str, Sequence[Example]]:
    """By the operation's name."""
    found = defaultdict[str, list[Example]](list)
    for one in orjson.loads(files("offturn_http").joinpath("examples.json").read_bytes()):
        found[one["operation"]].append(Example.model_validate(one))
    return found
