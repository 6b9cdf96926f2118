"""What goes with a record beside the messages: what usage teaches, and what a refusal or a lost reply means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from offturn.config import SessionConfig
from offturn.entries import Prepared
from offturn.errors import Behind, Conflict, InvalidMessage, Moved
from offturn.learning import Seen
from offturn.outbox import Batch
from offturn.room import no_room
from offturn.store.errors import torn
from offturn.store.replies import (
    BehindLog,
    DuplicateId,
    Meta,
    OrphanResult,
    Overfull,
    RecordReply,
    Torn,
    Unexpected,
)
from offturn.store.state import Pace
from offturn.usage import Usage
from offturn.view import View
from offturn_config.keys import SessionKey
from offturn_engine.tokens import Calibration
from offturn_engine.triggers import early

UNSURE = (
    "whether the messages were recorded is not known: make the same call again on the same session object, it takes "
    "effect once; a call from another process does so only with ids="
)
KEPT = (
    "{}: the messages are kept in this process until the store takes them, and lost if it ends before: {} of {} wait, "
    "undelivered() has them"
)
RESTORED = "the store had lost the newest {} of this session, as after a failover: recorded again"
BEYOND = (
    "usage of {} input tokens was not used for estimates, the window has {}: pass the usage of the call made with this "
    "view alone, or the model's real window"
)
BEHIND = "the store's log is not the one this handle has read; nothing was written: look at view(), then go on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The arguments of a record that come from usage; None: as the session has it. Thresholds: estimate units."""

    calibration: str | None = None
    thresholds: tuple[int, int, int] | None = None
    pace: Pace | None = None
    event: str | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, usage: Any, view: View | None, meta: Meta | None, config: SessionConfig, seen: Seen | None = None
    ) -> Measured:
        """From what the host gave, for the call made with `view`. A first record sets the thresholds and the pace.

        `seen`: what the session's pace has taught, which counts whether or not there is usage.
        """
        known = config.calibration(meta.calibration if meta else None)
        measured = Usage.from_response(usage)
        if measured is None:
            warnings = () if usage is None else ("usage was not understood: pass the SDK's response or Usage(...)",)
            first = meta is None
            return cls(
                thresholds=levels(config, known, seen) if first or seen else None,
                pace=config.pace(known) if first else None,
                warnings=warnings,
            )
        largest = max(config.window, (view.options.window or 0) if view else 0)
        if measured.input_tokens > largest:
            # Believed, it would leave no room for any view, and no call to put it right.
            return cls(
                thresholds=levels(config, known, seen) if meta is None or seen else None,
                pace=config.pace(known) if meta is None else None,
                event=_event(measured, view),
                warnings=(BEYOND.format(measured.input_tokens, largest),),
            )
        if view is not None and view.estimate and view.options.format is None and view.options.model is None:
            known = known.observe(view.estimate, measured.input_tokens, view.declared)
        return cls(
            calibration=known.model_dump_json(),
            thresholds=levels(config, known, seen),
            pace=config.pace(known),
            event=_event(measured, view),
        )

    @classmethod
    def counted(cls, tokens: int, view: View, meta: Meta | None, config: SessionConfig) -> Measured:
        """From a provider's count of a request it refused: it calibrates as usage does, and was not paid."""
        known = config.calibration(meta.calibration if meta else None)
        known = known.observe(view.estimate, tokens, view.declared)
        return cls(calibration=known.model_dump_json(), thresholds=levels(config, known))


class Unsure:
    """Remembers a record whose outcome is not known, so that the host's own retry is the same operation."""

    def __init__(self) -> None:
        self._batch: Batch | None = None

    def same(self, prepared: Prepared) -> Batch | None:
        """The unsure one, if it was of these very messages."""
        known = self._batch
        return known if known and known.prepared.says(prepared) else None

    def remember(self, batch: Batch) -> None:
        """No reply came."""
        self._batch = batch

    def forget(self) -> None:
        """A reply came."""
        self._batch = None


def refusal(key: SessionKey, reply: RecordReply, batch: Prepared) -> Exception:
    """The error for a record that was not done."""
    match reply:
        case DuplicateId(index=index, host_id=host_id):
            place = batch.first + index
            return Conflict(f"message {place}: id {host_id!r} is recorded with other content; nothing was written")
        case OrphanResult(index=index, call_id=call_id):
            part = next(i for i, result in batch.messages[index].results if result.call_id == call_id)
            problem = f"a result for call id {call_id!r}, which no recorded call has open: record the call first"
            return InvalidMessage(batch.first + index, f"part {part}", problem)
        case Unexpected(length=length):
            return Moved(f"expect: the next message gets seq {length}; nothing was written")
        case BehindLog():
            return Behind(BEHIND)
        case Torn(held=held, length=length):
            return torn(key.session, held, length)
        case Overfull():
            return no_room(key, reply)
        case _:
            return Conflict("the session was purged or expired while this handle was open; nothing was written")


def levels(config: SessionConfig, calibration: Calibration, seen: Seen | None = None) -> tuple[int, int, int]:
    """Trigger levels as a record carries them: soft, hard, growth, in estimate units."""
    found = config.thresholds(calibration)
    if seen and config.policy.trigger.learn_start:
        found = early(found, milliseconds=seen.milliseconds, growth=seen.growth, largest=seen.largest)
    return found.soft, found.hard, found.growth


def _event(measured: Usage, view: View | None) -> str:
    return json.dumps(
        {
            "input": measured.input_tokens,
            "cached": measured.cached_tokens,
            "output": measured.output_tokens,
            "generation": view.generation if view else 0,
        }
    )
