"""`fit`: a request that fits, from a list alone. Pure and synchronous: no store, no model, no worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn.config import SessionConfig, reserved_output
from offturn.entries import whole_list
from offturn.showing import build, give_way, room
from offturn.view import Options, View
from offturn_config.presets import DEFAULT, load
from offturn_engine.compaction import NOTHING
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Json
from offturn_engine.path import Path
from offturn_engine.render import render
from offturn_engine.tokens import Calibration


def fit(
    messages: Sequence[Any],
    *,
    format: str,  # noqa: A002 -- the public contract
    window: int,
    policy: str = DEFAULT,
    max_output: int | None = None,
    system: Json = None,
    tools: Json = None,
) -> View:
    """The list as it is where it fits the window, else the emergency view.

    window, max_output: tokens. Raises InvalidMessage, CannotFit, UnknownFormat, UnknownPolicy, InvalidPolicy,
    InvalidSetting.
    """
    config = SessionConfig(
        format=get(format).name,
        policy=load(policy),
        model=None,
        window=window,
        max_output=reserved_output(window, max_output),
        adopt="group",
    )
    fmt = config.fmt
    path = Path(parse_all(fmt, whole_list(messages)))
    options = Options(system=system, tools=tools)
    space = room(config, Calibration(), fmt, options)
    shown, rendering = NOTHING, render(path, NOTHING, fmt)
    if path and rendering.tokens > space.messages:
        made = give_way(path, NOTHING, fmt, space, ())
        shown, rendering = made.compaction, made.rendering
    return build(None, shown, rendering, space, options, fmt)
