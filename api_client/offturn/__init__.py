"""offturn for hosts: record messages, ask for a view, and go on; compaction happens off the turn.

client = CompactionClient.from_url("redis://localhost:6379/0")
session = client.session("telegram:42", format="openai-chat", window=200_000)
await session.record([question])
view = await session.view()
"""

from offturn._version import __version__
from offturn.appending import Recorded
from offturn.client import CompactionClient
from offturn.config import ANY_WINDOW
from offturn.errors import (
    Archived,
    Behind,
    CannotFit,
    Closed,
    ConfigError,
    Conflict,
    InvalidMessage,
    InvalidPolicy,
    InvalidSetting,
    Moved,
    NotConfirmed,
    NothingRecorded,
    NotRecorded,
    OffturnError,
    Refused,
    SessionFull,
    StoreFault,
    StoreFull,
    StoreUnavailable,
    TenantFull,
    UnknownFormat,
    UnknownPolicy,
    UnknownVersion,
)
from offturn.health import Health
from offturn.inspecting import Event, Generation, Place, Status
from offturn.oneshot import fit
from offturn.outbox import Undelivered
from offturn.overflow import is_overflow
from offturn.pinning import Pinned
from offturn.recalling import RecallTool
from offturn.session import Session
from offturn.store.pausing import Pause
from offturn.store.workers import WorkerSeen
from offturn.summarizer import EXTRACTIVE, Summarizer
from offturn.ticket import Ticket
from offturn.turning import Turned
from offturn.usage import Usage
from offturn.view import View
from offturn.writing_back import WriteBack
from offturn_engine.errors import SummarizerError
from offturn_engine.fact_fates import FactFate
from offturn_engine.fates import Fate
from offturn_engine.outcome import Compacted, Failed, Outcome, Pruned, Skipped, Superseded
from offturn_engine.search import Hit
from offturn_engine.summary import SummaryReply, SummaryRequest

__all__ = [
    "ANY_WINDOW",
    "EXTRACTIVE",
    "Archived",
    "Behind",
    "CannotFit",
    "Closed",
    "Compacted",
    "CompactionClient",
    "ConfigError",
    "Conflict",
    "Event",
    "FactFate",
    "Failed",
    "Fate",
    "Generation",
    "Health",
    "Hit",
    "InvalidMessage",
    "InvalidPolicy",
    "InvalidSetting",
    "Moved",
    "NotConfirmed",
    "NotRecorded",
    "NothingRecorded",
    "OffturnError",
    "Outcome",
    "Pause",
    "Pinned",
    "Place",
    "Pruned",
    "RecallTool",
    "Recorded",
    "Refused",
    "Session",
    "SessionFull",
    "Skipped",
    "Status",
    "StoreFault",
    "StoreFull",
    "StoreUnavailable",
    "Summarizer",
    "SummarizerError",
    "SummaryReply",
    "SummaryRequest",
    "Superseded",
    "TenantFull",
    "Ticket",
    "Turned",
    "Undelivered",
    "UnknownFormat",
    "UnknownPolicy",
    "UnknownVersion",
    "Usage",
    "View",
    "WorkerSeen",
    "WriteBack",
    "__version__",
    "fit",
    "is_overflow",
]
