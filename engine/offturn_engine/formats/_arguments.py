"""Call arguments as JSON text: read strictly, written so that they stay JSON."""

from __future__ import annotations

import json
from math import isfinite

from offturn_engine.messages import Json


def read_arguments(source: str) -> Json:
    """The parsed value, or None where the text is not JSON that can be written back (NaN, lone surrogates)."""
    try:
        value = json.loads(source, parse_constant=_refuse, parse_float=_finite)
        if "\\u" in source:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def write_arguments(value: Json) -> str:
    """JSON text of arguments. Raises ValueError for NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _refuse(constant: str) -> Json:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(digits)
    return number
