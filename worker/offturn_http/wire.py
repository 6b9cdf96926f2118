"""JSON as it comes in and goes out: nothing of what a host recorded is changed on the way."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import orjson
from pydantic import BaseModel, ConfigDict

DEEPEST = 200  # levels, as of messages


class Given(BaseModel):
    """What requests are parsed into: types as JSON has them, and no member that nothing reads."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Answer(BaseModel):
    """What answers are made of."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


def dumps(value: Any) -> bytes:
    """JSON. What orjson refuses and hosts record all the same, lone surrogates and large numbers, goes out escaped."""
    try:
        return orjson.dumps(value, default=_members)
    except TypeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_members).encode()


def loads(body: bytes) -> Any:
    """A JSON value. Raises ValueError for what is none, or nests deeper than any message may.

    Not by orjson, which reads integers beyond 64 bits as floats: looking for these first costs more than it gains. Nor in
    a thread, which would hold the interpreter for as long.
    """
    try:
        with _uncollected():
            return json.loads(body, parse_constant=_refused, parse_float=_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Nobody looks for garbage inside the block: of a large body of small values that took two thirds of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def shallow(value: Any) -> Any:
    """The value. Raises ValueError where it nests deeper than messages may: what measures it would run out of stack."""
    level, depth = [value], 0
    while level := [item for one in level if isinstance(one, dict | list) for item in _items(one)]:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels")
    return value


def _items(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _members(value: object) -> Mapping[str, Any]:
    """Of an answer, as they are: it was made here, so nothing of it needs a look or a copy."""
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(f"a {type(value).__name__} is no JSON")


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond those of JSON's readers")
    return value
