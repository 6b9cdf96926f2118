"""How small the next request is after one that was too long, and what a handle has learnt of its providers' limits.

All of it lives in the handle, not in the store: another handle learns it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.overflow import Overflow
from offturn.showing import room
from offturn.view import Options, View
from offturn_engine.errors import CannotFit
from offturn_engine.tokens import FACTOR_MOST

REFUSED = "the provider refused smaller views as well, the last one had"
ALLOWED = (
    "the provider takes requests of about {} tokens, the window of {} lets them be larger: views of this handle keep to "
    "the former; configure(window=...) tells every process, and the triggers"
)
DOUBTED = (
    "no view fits the {} tokens that the provider was understood to take: this handle keeps to the window of {} again"
)


@dataclass(slots=True)
class Shrinking:
    """A row of overflows, and limits.

    `views` were made in the row, that is with no answer recorded since its first; `estimate` is the last one's.
    `pending` are the digests of what was recorded with it: hosts give the same messages each time.
    `limits`: by window, the real tokens of a request that its provider takes. Believed as long as a view fits: a number
    that was wrong, or not the limit, must not be the end of a conversation.
    """

    views: int = 0
    estimate: int | None = None
    pending: tuple[str, ...] = ()
    limits: dict[int, int] = field(default_factory=dict)

    def known(self, digests: tuple[str, ...]) -> int:
        """How many of these pending messages are recorded already."""
        return len(self.pending) if digests[: len(self.pending)] == self.pending else 0

    def answered(self) -> None:
        """A model call succeeded: the next overflow is the first of its row."""
        self.views, self.estimate, self.pending = 0, None, ()

    def limited(self, config: SessionConfig, options: Options) -> tuple[Options, tuple[str, ...]]:
        """The options with what the provider takes, and the warning that says so."""
        window = config.sized(options.window, options.max_output).window
        if window not in self.limits:
            return options, ()
        allowed = self.limits[window]
        return replace(options, allowed=allowed), (ALLOWED.format(allowed, window),)

    @contextmanager
    def doubting(self, config: SessionConfig, options: Options) -> Iterator[None]:
        """Without what was learnt for this window; it counts again where that does not help either."""
        window = config.sized(options.window, options.max_output).window
        before = dict(self.limits)
        self.limits.pop(window, None)
        try:
            yield
        except BaseException:
            self.limits = before
            raise

    def next(self, cache: Cache, config: SessionConfig, said: Overflow, sent: View, pending: int) -> Options:
        """What the next view has to keep to. Raises CannotFit at the end of a row.

        Learns the limit: what the provider's window leaves, or, where it names none, 80 % of what was sent.
        pending: estimate of what the request may have held beside `sent`.
        """
        options, tokens = replace(sent.options, generation=None, most=None), said.tokens or sent.tokens
        sized = config.sized(options.window, options.max_output)
        told = _shrunk(tokens) if said.window is None else said.window - sized.output_of(said.window)
        if told < self.limits.get(sized.window, sized.limits.usable):
            self.limits[sized.window] = told
        calibration = config.calibration(cache.meta.calibration if cache.meta else None)
        space = room(config, calibration, cache.fmt, self.limited(config, options)[0])
        limit = min(space.limit, _shrunk(tokens))
        if self.views >= config.policy.failure.reactive:
            raise CannotFit(tokens, limit, REFUSED)
        whole = sent.estimate + sent.declared + (pending if said.tokens else 0)
        share = whole * limit // max(1, tokens) - sent.declared
        before = sent.estimate if self.estimate is None else min(self.estimate, sent.estimate)
        # By proportion to what was sent too: that holds where the calibration does not know the provider yet.
        most = min(share, _shrunk(before), space.calibration.estimate_for(limit))
        return replace(options, most=max(0, most))

    def made(self, view: View) -> None:
        """This view was made in the row."""
        self.views, self.estimate = self.views + 1, view.estimate


def count_of(said: Overflow, sent: View) -> int | None:
    """The provider's count, where it can be that of this view alone. Another would leave later views no room for good."""
    whole = sent.estimate + sent.declared
    if sent.options.format is not None or sent.options.model is not None:  # not the session's: it counts otherwise
        return None
    return said.tokens if said.tokens and said.tokens <= FACTOR_MOST * whole else None


def _shrunk(tokens: int) -> int:
    """80 % of them."""
    return tokens * 4 // 5
