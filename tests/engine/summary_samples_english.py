"""English sessions, each with a summary a careful writer would give."""

from __future__ import annotations

from offturn_engine.compaction import Sections
from offturn_engine.templates import NINE_SECTION
from tests.engine.summary_sample import Sample

ENGLISH_TEXT = """[m1 human]
Customers are charged twice when the payment callback is retried (ticket PAY-482). Please find out why and fix it. \
Do not change the database schema, and keep the public API as it is.

[m2 assistant]
I'll look at the callback handler first.
call m2.1 bash {"command": "grep -rn \\"def handle_callback\\" src/"}

[m3 tool]
result m2.1 bash ok:
src/payments/callbacks.py:57:def handle_callback(event: CallbackEvent) -> None:

[m4 assistant]
call m4.0 bash {"command": "pytest -q tests/test_callbacks.py"}

[m5 tool]
result m4.0 bash failed:
FAILED tests/test_callbacks.py::test_retry_is_idempotent - DuplicateChargeError: charge ch_3PqX91 already exists
1 failed, 14 passed in 3.27s

[m6 assistant]
The handler has no idempotency key. I could add a unique column, or keep the key in Redis for 24 hours.

[m7 human]
Redis please, the schema is frozen until the audit on 2026-12-15. Use port 6380, not the default one.

[m8 assistant]
call m8.0 edit_file {"path": "src/payments/callbacks.py", "old": "charge(event)", "new": "with idempotent(event.id, ttl=86400):\\n    charge(event)"}

[m9 tool]
result m8.0 edit_file ok:
edited

[m10 assistant]
call m10.0 bash {"command": "pytest -q"}

[m11 tool]
result m10.0 bash ok:
212 passed in 41.80s

[m12 human]
Good. Now the refund path has the same problem I think, check src/payments/refunds.py and write a note in docs/payments.md.

"""

ENGLISH = Sample(
    name="english-first",
    language="English",
    humans=("Customers are charged twice when the payment callback is retried. Please find out why and fix it.",),
    transcript=ENGLISH_TEXT,
    summary="""## Goal
- Stop customers from being charged twice when the payment callback is retried (PAY-482).
- Latest request: check `src/payments/refunds.py` for the same problem and write a note in `docs/payments.md`.

## Constraints and Preferences
- The database schema must not change; it is frozen until the audit on 2026-12-15.
- The public API stays as it is.
- Use Redis on port 6380, not the default one.

## Done
- Reproduced the bug: `test_retry_is_idempotent` failed with `DuplicateChargeError`.
- Wrapped the charge in `handle_callback` (src/payments/callbacks.py) in `idempotent(event.id, ttl=86400)`; the full suite passed (212 tests in 41.8 s).

## In Progress
- none

## Blocked
- none

## Key Decisions
- Idempotency key kept in Redis for 24 hours rather than in a unique column, because the schema is frozen.

## Errors and Fixes
- `DuplicateChargeError: charge ch_3PqX91 already exists`: the handler had no idempotency key; fixed by the wrapper.

## Next Steps
1. Check the refund path in src/payments/refunds.py.
2. Write the note in docs/payments.md.

## Critical Details
- `ttl=86400`, Redis port 6380, ticket PAY-482.
""",
)

ENGLISH_UPDATE = Sample(
    name="english-update",
    language="English",
    humans=("Good. Now the refund path has the same problem I think, check it and write a note.",),
    previous=Sections(
        titles=NINE_SECTION.titles,
        bodies=(
            "- Stop double charges when the payment callback is retried (PAY-482).",
            "- No schema change until 2026-12-15; Redis on port 6380.",
            "- Wrapped the charge in src/payments/callbacks.py; 212 tests passed.",
            "- Refund path in src/payments/refunds.py.",
            "",
            "- Key in Redis for 24 hours instead of a unique column.",
            "",
            "- Note in docs/payments.md.",
            "- ttl=86400",
        ),
    ),
    transcript="""[m13 assistant]
call m13.0 bash {"command": "sed -n 30,60p src/payments/refunds.py"}

[m14 tool]
result m13.0 bash ok:
def refund(charge_id: str, amount: int) -> Refund:
    return gateway.refund(charge_id, amount)

[m15 assistant]
Same problem. I wrapped it too and ran the tests.
call m15.1 bash {"command": "pytest -q tests/test_refunds.py && git commit -am 'Make refunds idempotent'"}

[m16 tool]
result m15.1 bash ok:
9 passed in 0.92s
[main 4f1c2ab9d0] Make refunds idempotent

[m17 human]
Before the note: staging says connection refused on 6380, can you check docker-compose.yml?

""",
    summary="""Here is the updated record:

**Goal**
* Stop double charges when the payment callback is retried (PAY-482); now also find out why staging refuses connections on port 6380.

**Constraints & Preferences**
* No schema change until 2026-12-15. Redis on port 6380.

**Done**
* Callback charge wrapped in an idempotency guard, 212 tests passed.
* Refund path (`refunds.py`) wrapped the same way; its 9 tests passed; committed as 4f1c2ab.

**In Progress**
* N/A

**Blocked**
* Staging: connection refused on 6380, cause not known yet.

**Key Decisions**
* Key in Redis for 24 h instead of a unique column, as the schema is frozen.

**Errors & Fixes**
* "connection refused" on staging, not yet looked into.

**Next Steps**
* Check docker-compose.yml, then write the note in docs/payments.md.

**Critical Details**
* ttl=86400

Let me know if you would like anything else.
""",
)

CHAT = Sample(
    name="short-chat",
    language="English",
    humans=("What is the cheapest way to get from the airport to the old town?",),
    transcript="""[m0 human]
What is the cheapest way to get from the airport to the old town? I have two big suitcases.

[m1 assistant]
The bus is the cheapest, it costs 3.50 and takes about an hour. The train is faster but you have to change once.

[m2 human]
OK and which ticket machine takes cash?

""",
    summary="""## Goal
The user wants the cheapest way from the airport to the old town, with two big suitcases. Open question: which ticket machine takes cash.

## Constraints and Preferences
none

## Done
Told the user that the bus is cheapest (3.50, about an hour) and that the train is faster with one change.

## Next Steps
Answer which machine takes cash.

## Critical Details
none
""",
)
