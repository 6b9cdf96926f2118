"""What a run is held to: the bars of the issue, each told as it is met."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Bars:
    """The bars of the issue, as they are met."""

    reached: list[bool] = field(default_factory=list)

    def line(self, held: bool, text: str) -> str:
        self.reached.append(held)
        return f"  {'reached' if held else 'MISSED '}  {text}"


def span(seeds: range) -> str:
    return f"{seeds[0]}-{seeds[-1]}"
