"""A view in another format than the session's, for a model of another provider. It is made for that call, not committed."""

from __future__ import annotations

from dataclasses import replace

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.request_options import sets_breakpoints
from offturn.showing import Room, calibration, room, show
from offturn.view import Options, View
from offturn_config.errors import InvalidSetting
from offturn_engine.crossing import convert
from offturn_engine.errors import CannotFit
from offturn_engine.formats import get, names
from offturn_engine.formats.base import Format

TRIES = 4


def checked_format(name: object) -> str | None:
    """The same. Raises InvalidSetting for what is no format's name."""
    if name is not None and name not in names():
        raise InvalidSetting(f"format {name!r:.40}: use one of {', '.join(names())}")
    return str(name) if name is not None else None


async def show_as_asked(cache: Cache, config: SessionConfig, options: Options, *, offline: bool = False) -> View:
    """The view, in the format and for the model that were asked for. Raises what `show` raises.

    Another format has other frames and notations, so what fits in one may not in the other: the session's view gives
    way until it does.
    """
    options = replace(options, model=None if options.model == config.model else options.model)
    config = replace(config, model=options.model or config.model)
    if options.format is None or options.format == config.format:
        return await show(cache, config, replace(options, format=None), offline=offline)
    target = get(options.format, config.policy.trigger.estimator)
    space = room(config, calibration(cache, config, options), target, options)
    asked, over = options, 0
    for _ in range(TRIES):
        own = await show(cache, config, asked, offline=offline)
        made, estimate = _converted(own, cache.fmt, target, space)
        over = estimate - space.messages
        if over <= 0:
            breakpoints = sets_breakpoints(config, target)
            return replace(made, options=options, breakpoints=breakpoints)
        asked = replace(options, most=max(0, min(own.estimate - over, own.estimate * space.messages // estimate)))
    raise CannotFit(space.calibration.real(space.messages + over), space.limit)


def _converted(own: View, source: Format, target: Format, space: Room) -> tuple[View, int]:
    """The view in the target's format, and its estimate there. `View.estimate` stays the session's own."""
    made = convert(own.messages, source, target, own.system)
    estimate = sum(target.estimate(raw) for raw in made.messages)
    more = target.overhead(made.system, None) - target.overhead(own.system, None)  # what was moved beside the messages
    tail = next((i for i, at in enumerate(made.sources) if at >= own.tail_from), len(made.messages))
    view = replace(
        own,
        messages=made.messages,
        system=made.system,
        format=target.name,
        tokens=space.calibration.real(estimate + more),
        limit=space.limit,
        tail_from=tail,
        warnings=(*own.warnings, *made.warnings),
        request_options={},
        opaque=None,
    )
    return view, estimate + more
