"""The ratios as a picture: each figure's distance from its target, on a scale of factors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.figures import Figure, amount

LEAST, MOST = 0.01, 100.0  # factors; what is beyond is drawn at the edge
WIDTH, STEP = 460, 17  # pixels
OK, MISSED, QUIET = "#3b6fb6", "#d1495b", "#8a8a8a"
FONT = "Helvetica, Arial, sans-serif"


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Write an SVG or a PNG, by the name's end; nothing where no figure has a target."""
    import vl_convert

    if not any(one.target for one in figures):
        return

    spec = chart(figures)
    if path.suffix.lower() == ".png":
        path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    else:
        path.write_text(vl_convert.vegalite_to_svg(spec) + "\n", encoding="utf-8")


def chart(figures: Sequence[Figure]) -> dict[str, Any]:
    """In Vega-Lite, a panel for each part. Left of the rule is within the target, whichever way that goes."""
    parts = list(dict.fromkeys(one.part for one in figures if one.target))
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "padding": 12,
        "config": {"aria": False, "font": FONT, "view": {"stroke": None}, "axis": {"domain": False, "ticks": False}},
        "spacing": 12,
        "vconcat": [_panel(part, figures, last=part == parts[-1]) for part in parts],
    }


def _panel(part: str, figures: Sequence[Figure], *, last: bool) -> dict[str, Any]:
    values = [
        {
            "figure": one.name,
            "factor": min(MOST, max(LEAST, factor(one))),
            "result": one.result,
            "ratio": f"{amount(one.ratio)} x",
            "target": one.demanded,
        }
        for one in figures
        if one.target and one.part == part
    ]
    axis = {
        "values": [LEAST, 0.1, 1, 10, MOST],
        "labels": last,
        "labelExpr": "datum.value == 1 ? 'target' : datum.value < 1 ? 1 / datum.value + ' x better' : datum.value + ' x worse'",
        "labelFontSize": 11,
        "labelPadding": 6,
        "gridColor": "#e3e3e3",
        "title": None,
    }
    x = {"field": "factor", "type": "quantitative", "axis": axis, "scale": {"type": "log", "domain": [LEAST, MOST]}}
    y: dict[str, Any] = {"field": "figure", "type": "nominal", "sort": None, "title": None}
    y["axis"] = {"labelLimit": 420, "labelFontSize": 11, "labelPadding": 10, "minExtent": 330, "maxExtent": 330}
    colour = {
        "field": "result",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": ["ok", "MISSED"], "range": [OK, MISSED]},
    }
    return {
        "title": {"text": part, "anchor": "start", "frame": "group", "fontSize": 12, "offset": 4},
        "width": WIDTH,
        "height": {"step": STEP},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "size": 2, "opacity": 0.5},
                "encoding": {"x": x, "x2": {"datum": 1}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {"x": x, "color": colour},
            },
            {
                "mark": {"type": "rule", "color": "black"},
                "encoding": {"x": {"datum": 1}, "y": {"value": 0}, "y2": {"value": "height"}},
            },
            _column("ratio", 62, "black"),
            _column("target", 70, QUIET, align="left"),
        ],
    }


def _column(field: str, right: int, colour: str, *, align: str = "right") -> dict[str, Any]:
    """Text beside the panel, so many pixels from it."""
    mark = {"type": "text", "align": align, "fontSize": 11, "color": colour, "clip": False}
    return {"mark": mark, "encoding": {"x": {"value": WIDTH + right}, "text": {"field": field, "type": "nominal"}}}


def factor(figure: Figure) -> float:
    """How far the ratio is from its target: 1 where it is just held, more where it is missed."""
    target = figure.target or 1.0
    return target / figure.ratio if figure.least else figure.ratio / target
