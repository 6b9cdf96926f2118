"""What a part finds, as values: each figure is a ratio of two numbers taken side by side in one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Result = Literal["ok", "MISSED", "told"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`ours` and `other` in `unit`; `against` says what the other is: a peer, a bare operation, or a limit.

    target: of ours / other; None: told, nothing is demanded. least: the ratio must reach the target, not stay below it.
    samples: of each of the two; 0 where it is not taken by rounds.
    """

    part: str
    name: str
    ours: float
    other: float
    unit: str
    against: str
    target: float | None = None
    least: bool = False
    samples: int = 0

    @property
    def ratio(self) -> float:
        """Nothing beside nothing is even."""
        if not self.other:
            return float("inf") if self.ours else 1.0
        return self.ours / self.other

    @property
    def result(self) -> Result:
        if self.target is None:
            return "told"
        held = self.ratio >= self.target if self.least else self.ratio <= self.target
        return "ok" if held else "MISSED"

    @property
    def demanded(self) -> str:
        if self.target is None:
            return "-"
        return f"{'>=' if self.least else '<='} {self.target:g}"

    def cells(self) -> tuple[str, str, str, str, str, str, str]:
        """One row of the table: figure, offturn, against, peer or limit, ratio, target, result."""
        ours, other = (f"{amount(value)} {self.unit}".strip() for value in (self.ours, self.other))
        named = f"{self.part}: {self.name}"
        return named, ours, self.against, other, f"{amount(self.ratio)} x", self.demanded, self.result

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "result": self.result}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Figure:
        return cls(**{name: value[name] for name in cls.__dataclass_fields__})


COLUMNS = ("figure", "offturn", "against", "peer or limit", "ratio", "target", "result")


def amount(value: float) -> str:
    """Three digits that count; of what is counted, all."""
    if value >= 100 or (value >= 10 and value == int(value)):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """For a terminal."""
    rows = [COLUMNS, *(figure.cells() for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def held(figures: Sequence[Figure], failed: Sequence[str]) -> bool:
    """Whether a run reached all that is demanded of it."""
    return not failed and all(figure.result != "MISSED" for figure in figures)


def verdict(figures: Sequence[Figure], failed: Sequence[str]) -> str:
    """The last line of a run."""
    demanded = [figure for figure in figures if figure.result != "told"]
    line = f"{sum(figure.result == 'ok' for figure in demanded)} of {len(demanded)} ok"
    return f"{line}; failed: {', '.join(failed)}" if failed else line
