"""The ledger: facts taken from the transcript by code, never by a model.

Files with what was last done to them, commands with their outcome, errors and whether they are gone, what humans and
the agent stated, to-do items, identifiers, calls still open. Everything in it can be found again by its handle.

    collecting  messages -> facts          stated, todos, identifiers, values: what the rules find
    joining     facts + later facts -> facts
    showing     facts -> text within a budget      ranking, superseding, using: what is shown first
"""

from offturn_engine.ledger.collecting import ledger
from offturn_engine.ledger.joining import MOST, bounded, merge
from offturn_engine.ledger.showing import HEADINGS, PINNED, LedgerBlock, render
from offturn_engine.ledger.using import in_use

__all__ = ["HEADINGS", "MOST", "PINNED", "LedgerBlock", "bounded", "in_use", "ledger", "merge", "render"]
