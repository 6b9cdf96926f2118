"""The ledger: facts taken from the transcript by code, never by a model.

Files with what was last done to them, commands with their outcome, errors and whether they are gone, what humans and
the agent stated, to-do items, identifiers, calls still open. Everything in it can be found again by its handle.

    collecting  messages -> facts          stated, todos, identifiers, values: what the rules find
    joining     facts + later facts -> facts            found: a fact before that
    phases      messages -> phases that are over
    showing     facts -> text within a budget      ranking, superseding, using: what is shown first; folding: what a
                                                   finished phase shrinks to
"""

from offturn_engine.ledger.collecting import ledger
from offturn_engine.ledger.folding import Fold
from offturn_engine.ledger.joining import MOST, bounded, merge
from offturn_engine.ledger.phases import Phase, ended, phases
from offturn_engine.ledger.showing import HEADINGS, PINNED, LedgerBlock, fold, render
from offturn_engine.ledger.using import in_use

__all__ = [
    "HEADINGS",
    "MOST",
    "PINNED",
    "Fold",
    "LedgerBlock",
    "Phase",
    "bounded",
    "ended",
    "fold",
    "in_use",
    "ledger",
    "merge",
    "phases",
    "render",
]
