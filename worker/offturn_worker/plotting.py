"""A comparison as a picture: bars of the tokens each policy leaves. Needs the extra `plot`; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offturn.wording import several
from offturn_config.errors import InvalidSetting
from offturn_worker.comparing import Row

SUFFIXES = (".svg", ".png")
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MISSING = "--plot: in a clone of offturn, pip install '.[plot]'"


def check(path: Path) -> None:
    """Before the work. Raises InvalidSetting for another kind of file, or without the extra."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidSetting(f"--plot {str(path)!r}: use a name that ends in {' or '.join(SUFFIXES)}")
    try:
        import vl_convert  # noqa: F401 -- an extra
    except ModuleNotFoundError:
        raise InvalidSetting(MISSING) from None


def plot(rows: Sequence[Row], window: int, path: Path) -> None:
    """Write the picture. Raises InvalidSetting where the file cannot be written."""
    import vl_convert

    spec = chart(rows, window)
    try:
        if path.suffix.lower() == ".svg":
            path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        else:
            path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    except OSError as error:
        raise InvalidSetting(f"--plot {str(path)!r}: {error.strerror or error}: name another file") from None


def chart(rows: Sequence[Row], window: int) -> dict[str, Any]:
    """The chart in Vega-Lite."""
    before = rows[0].tokens_before if rows else 0
    values = [
        {
            "policy": row.policy,
            "tokens": row.tokens_after,
            "label": f"{row.tokens_after:,} · {row.human_verbatim}/{row.human_messages} human · {several(row.model_calls, 'call')}",
        }
        for row in rows
    ]
    x = {"field": "tokens", "type": "quantitative", "title": "tokens after (estimates)"}
    y = {"field": "policy", "type": "nominal", "sort": None, "title": None}
    return {
        "$schema": SCHEMA,
        "title": {"text": f"{before:,} tokens before", "subtitle": f"for a window of {window:,} tokens"},
        "width": 560,
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "bar", "color": "#4c78a8"}, "encoding": {"x": x, "y": y}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"x": x, "y": y, "text": {"field": "label", "type": "nominal"}},
            },
            {"mark": {"type": "rule", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": before}}},
        ],
    }
