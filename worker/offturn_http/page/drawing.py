"""The templates' environment: numbers, times and money as people read them. All values are escaped, and made visible."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from offturn.wording import several
from offturn_engine.handles import handle
from offturn_engine.ranges import label
from offturn_http.page.charts import short
from offturn_worker.reporting.page import CONCESSIONS, environment

if TYPE_CHECKING:
    from jinja2 import Environment

SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def templates() -> Environment:
    """Of this package."""
    made = environment("offturn_http.page", "templates")
    made.filters |= {
        "ago": ago,
        "clock": clock,
        "handle": handle,
        "iso": iso,
        "label": label,
        "several": lambda count, name: several(count, name).replace(str(count), f"{count:,}", 1),
        "short": short,
        "span": span,
        "url": lambda value: quote(str(value), safe=""),
    }
    made.globals |= {"CONCESSIONS": CONCESSIONS}
    return made


def span(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`, `5 d`."""
    size, unit = next(((size, unit) for size, unit in SPANS if seconds >= size), (1, "s"))
    return f"{max(0, int(seconds // size))} {unit}"


def ago(ms: int) -> str:
    """How long before now, by this machine's clock."""
    return f"{span(max(0.0, time.time() - ms / 1000))} ago"


def clock(ms: int) -> str:
    """A time of the store's clock."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(ms: int) -> str:
    """The same for programs."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
