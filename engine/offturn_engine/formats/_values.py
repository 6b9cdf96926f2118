"""What every provider asks of any JSON value, and the typed errors for what breaks it."""

from __future__ import annotations

from math import isfinite
from typing import NoReturn

from offturn_engine.errors import InvalidMessage
from offturn_engine.messages import Json

DEPTH = 200  # levels of nesting; deeper values break JSON parsers on the way


class Field:
    """A place inside a message, for errors: `Field(3)["content"][1]` is message 3, `content[1]`."""

    __slots__ = ("index", "path")

    def __init__(self, index: int, path: str = "") -> None:
        self.index = index
        self.path = path

    def __getitem__(self, key: str | int) -> Field:
        if isinstance(key, int):
            return Field(self.index, f"{self.path}[{key}]")
        return Field(self.index, f"{self.path}.{key}" if self.path else key)

    def refuse(self, problem: str) -> NoReturn:
        """Raise InvalidMessage for this place."""
        raise InvalidMessage(self.index, self.path, problem)


def checked(value: Json, index: int) -> dict[str, Json]:
    """A message that can be sent as JSON. Raises InvalidMessage."""
    if not isinstance(value, dict):
        Field(index).refuse(f"a message is an object, got {kind_of(value)}")
    if not _surely_fine(value, DEPTH):
        check_json(value, Field(index))
    return value


def _surely_fine(value: Json, levels: int) -> bool:
    """Would `check_json` find nothing? A quick look, without a name for every place; where it is not sure it says no."""
    kind = type(value)
    if kind is str:
        return value.isascii() or _has_utf8(value)
    if kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        value = value.values()
    elif kind is not list:
        return value is None or kind is bool
    if not levels:
        return False
    for item in value:
        if type(item) is not str:
            if not _surely_fine(item, levels - 1):
                return False
        elif not (item.isascii() or _has_utf8(item)):
            return False
    return True


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_json(value: Json, field: Field, depth: int = 0) -> None:
    """Refuse what is not JSON or cannot be sent as UTF-8: NaN, lone surrogates, keys that are not strings, depth."""
    if depth > DEPTH:
        Field(field.index, field.path[:80]).refuse(f"is nested deeper than {DEPTH} levels: flatten it")
    if isinstance(value, str):
        check_text(value, field)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                field.refuse(f"has a key of type {type(key).__name__}: keys of a JSON object are strings")
            check_text(key, field)
            check_json(item, field[key if len(key) <= 40 else "..."], depth + 1)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            check_json(item, field[i], depth + 1)
    else:
        _check_scalar(value, field)


def check_text(text: str, field: Field) -> None:
    """Refuse lone surrogates: they have no UTF-8."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        where = error.start
    else:
        return
    field.refuse(f"has a lone surrogate at character {where}: send text.encode('utf-8', 'replace').decode()")


def _check_scalar(value: Json, field: Field) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if value.bit_length() > 1024:
            field.refuse("is an integer of more than 1024 bits: send it as a string")
    elif isinstance(value, float):
        if not isfinite(value):
            field.refuse("is NaN or infinite, which JSON does not have: send null or a string")
    else:
        field.refuse(f"is a {type(value).__name__}, not JSON: send dicts, lists, strings, numbers, booleans or None")


def text_at(value: Json, field: Field) -> str:
    """The string at a place."""
    if not isinstance(value, str):
        field.refuse(f"must be a string, got {kind_of(value)}")
    return value


def id_at(value: Json, field: Field) -> str:
    """The non-empty string that identifies or names a call."""
    if value is None:
        field.refuse("is missing: give the id or name the model gave")
    if not text_at(value, field):
        field.refuse("is empty: give the id or name the model gave")
    return str(value)


def object_at(value: Json, field: Field) -> dict[str, Json]:
    """The JSON object at a place."""
    if not isinstance(value, dict):
        field.refuse(f"must be an object, got {kind_of(value)}")
    return value


def kind_of(value: Json) -> str:
    """JSON's word for the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "a number", float: "a number", dict: "an object", list: "a list"}
    return names.get(type(value), type(value).__name__)
