"""Geometry of the page's charts: numbers to SVG coordinates. Pure; templates write the elements, a table tells the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from offturn_http.page.over_time import Curve, Step

LEFT, RIGHT, TOP, BOTTOM = 52, 12, 14, 26  # room for the axes' numbers
NEAR = 0.35  # a level so far above everything else would leave nothing to see of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A number of an axis and where it stands."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A horizontal line: a trigger level, or the window. end: where its name stands, which neighbours have no room for at one."""

    y: float
    name: str
    tokens: int
    end: Literal["left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A step, down by a compaction or up by a rollback. end: where it leads; before, after: tokens."""

    x: float
    top: float
    bottom: float
    end: float
    generation: int
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """An SVG of `width` by `height`; line, area and raw are the `d` of paths."""

    width: int
    height: int
    line: str
    area: str
    raw: str
    marks: tuple[Mark, ...]
    levels: tuple[Level, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    left: int = LEFT
    right: int = RIGHT


def chart(curve: Curve, levels: Sequence[tuple[str, int]], *, width: int = 720, height: int = 260) -> Chart:
    """The whole chart. levels: (name, tokens) of lines; those far above what there is are left out."""
    most = max(curve.tokens, 1)
    shown = [(name, tokens) for name, tokens in levels if tokens > 0 and tokens * NEAR <= most]
    top = _round_up(max([most, *(tokens for _, tokens in shown)]))
    across, down = width - LEFT - RIGHT, height - TOP - BOTTOM
    last = max(curve.messages, 1)

    def x(messages: float) -> float:
        return round(LEFT + across * messages / last, 1)

    def y(tokens: float) -> float:
        return round(TOP + down * (1 - tokens / top), 1)

    line = _path((x(n), y(t)) for n, t in curve.points)
    floor = y(0)
    return Chart(
        width=width,
        height=height,
        line=line,
        area=f"{line}L{x(curve.messages)} {floor}L{x(curve.points[0][0] if curve.points else 0)} {floor}Z"
        if line
        else "",
        raw=_path((x(n), y(t)) for n, t in curve.raw),
        marks=tuple(_mark(step, x, y) for step in curve.steps),
        levels=tuple(
            Level(y=y(tokens), name=name, tokens=tokens, end="left" if place % 2 else "right")
            for place, (name, tokens) in enumerate(shown)
        ),
        rows=tuple(Tick(at=y(tokens), text=short(tokens)) for tokens in _ticks(top, 4)),
        columns=tuple(Tick(at=x(n), text=short(n)) for n in _ticks(last, 5) if n <= last),
    )


def sparkline(curve: Curve, *, width: int = 160, height: int = 36) -> Chart:
    """Only the line, for a row of a table."""
    top, last = max((t for _, t in curve.points), default=0) or 1, max(curve.messages, 1)

    def place(messages: int, tokens: int) -> tuple[float, float]:
        return round(1 + (width - 2) * messages / last, 1), round(2 + (height - 4) * (1 - tokens / top), 1)

    line = _path(place(n, t) for n, t in curve.points)
    end = place(curve.messages, 0)
    area = f"{line}L{end[0]} {end[1]}L{place(0, 0)[0]} {end[1]}Z" if line else ""
    marks = tuple(_mark(step, lambda n: place(n, 0)[0], lambda t: place(0, t)[1]) for step in curve.steps)
    return Chart(
        width=width,
        height=height,
        line=line,
        area=area,
        raw="",
        marks=marks,
        levels=(),
        rows=(),
        columns=(),
        left=0,
        right=0,
    )


def short(number: int) -> str:
    """`950`, `12k`, `1.5M`: for axes."""
    if number < 1_000:
        return str(number)
    thousands = number / 1_000
    return f"{thousands:.3g}k" if thousands < 999.5 else f"{number / 1_000_000:.3g}M"


def _mark(step: Step, x: Callable[[int], float], y: Callable[[int], float]) -> Mark:
    return Mark(
        x=x(step.messages),
        top=y(max(step.before, step.after)),
        bottom=y(min(step.before, step.after)),
        end=y(step.after),
        generation=step.generation,
        before=step.before,
        after=step.after,
    )


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(points))


def _round_up(number: int) -> int:
    step = _step(number, 4)
    return -(-number // step) * step


def _ticks(top: int, about: int) -> list[int]:
    step = _step(top, about)
    return list(range(0, top + 1, step))


def _step(number: int, about: int) -> int:
    """A round distance that gives about so many ticks."""
    rough = max(number / about, 1)
    size = 10 ** (len(str(int(rough))) - 1)
    return int(next(n * size for n in (1, 2, 2.5, 5, 10) if n * size >= rough and (n * size) % 1 == 0))
