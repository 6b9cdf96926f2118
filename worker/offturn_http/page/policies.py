"""Policies: what can be chosen, and what one comes to for a window."""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import Response

from offturn.config import DEFAULT_WINDOW, reserved_output
from offturn_config.describe import LIMIT_OF, parameters, shown
from offturn_config.errors import InvalidPolicy, UnknownPolicy
from offturn_config.presets import load, names
from offturn_http.page.desk import Desk
from offturn_http.page.reading import NoSession

DIGITS = 9  # of a window


async def every(desk: Desk) -> Response:
    """All of them."""
    return desk.render("policies.html", policies=[load(name) for name in names()])


async def one(desk: Desk) -> Response:
    """Its parameters and, for the window of the address, its limits."""
    try:
        policy = load(desk.asked("name"))
    except UnknownPolicy as error:
        raise NoSession(str(error)) from None
    window, refused = max(desk.number("window", DEFAULT_WINDOW), 1), ""
    try:
        limits = policy.limits(window, reserved_output(window, None))
    except InvalidPolicy as error:
        refused = str(error)
        limits = policy.limits(DEFAULT_WINDOW, reserved_output(DEFAULT_WINDOW, None))
    return desk.render(
        "policy.html",
        policy=policy,
        window=window,
        refused=refused,
        limits={} if refused else asdict(limits),
        usable=0 if refused else limits.usable,
        rows=[
            (
                row.path,
                shown(row.value),
                LIMIT_OF.get(row.path, "") if row.tokens is not None else "",
                row.tokens,
                row.meaning,
            )
            for row in parameters(policy, limits)
        ],
    )
