"""What the examples of the OpenAPI document are taken from: every operation asked in turn, and once so that it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from offturn import CompactionClient
from tests.acceptance.command import SECONDS
from tests.http.conftest import Ask
from tests.http.serving import CHAT, says, user

ID, OTHER, NOWHERE = "chat:42", "chat:43", "nowhere"
LOGIN = user("Fix the login bug. Never touch the database.")
WORK = [message for n in range(4) for message in (user(f"Step {n}, please."), says(f"Read src/login{n}.py. " * 300))]
WORK += [user("And now?"), says("The bug is in src/login3.py.")]
LIST = [user("Fix the login bug."), says("Done.")]
TOO_LONG = {"status": 400, "error": {"code": "context_length_exceeded"}}
STREAM = "text/event-stream"
KEPT_LINES = re.compile(r"^(?:# (?:HELP|TYPE) )?offturn_(?:http_streams|up_store)\b.*\n", re.MULTILINE)

Example = dict[str, Any]


class Story:
    """Asks, and keeps what it asked and was told: `operation`, `path`, `query`, `body`, `status`, `media`, `answer`."""

    def __init__(self, ask: Ask, operations: Mapping[str, tuple[str, str]]) -> None:
        self.operator, self.host = ask("operator"), ask("host")
        self.stranger = httpx.Client(base_url=self.operator.base_url, timeout=SECONDS, trust_env=False)
        self.operations = operations
        self.told: list[Example] = []

    def asked(
        self, name: str, id_: str = "", body: Any = None, by: httpx.Client | None = None, /, **query: Any
    ) -> dict[str, Any]:
        """One example; what it was told."""
        method, path = self.operations[name]
        url = path.format(id=id_)
        while (
            "offturn_up_store 0.0"
            in (answer := (by or self.operator).request(method, url, params=query, json=body)).text
        ):
            pass  # a scrape waits a second for the store: on a busy machine it is late at times
        media = answer.headers.get("content-type", "").partition(";")[0]
        text = "".join(KEPT_LINES.findall(answer.text)) if media == "text/plain" else answer.text
        found: dict[str, Any] = answer.json() if media.endswith("json") else {}
        example = {"operation": name, "id": id_, "query": query, "body": body, "status": answer.status_code}
        self.told.append({**example, "media": media, "answer": found or text or None})
        return found

    def streamed(self) -> None:
        """The first event of a stream."""
        url = self.operations["events"][1].format(id=ID)
        with self.operator.stream("GET", url, headers={"Accept": STREAM}) as answer:
            lines = answer.iter_lines()
            text = "\n".join(next(lines) for _ in range(6))
        example: Example = {"operation": "events", "id": ID, "query": {}, "body": None, "status": 200}
        self.told.append({**example, "media": STREAM, "answer": f"{text}\n"})


def tell(story: Story, work: Callable[[Callable[[CompactionClient], Any]], Any]) -> list[Example]:
    """All of it, in a tenant of its own. work: does something in Python with the tenant's client."""
    turns(story)
    story.asked("phase", ID, {"note": "login fixed, tests are green"})
    story.asked("phase", NOWHERE, {})
    story.asked("request", ID, {"focus": "the failing tests"})
    story.asked("request", ID, {"focus": 1})
    story.asked("queue", state="due")
    story.asked("queue", state="late")
    work(lambda client: client.run_due())
    looks(story)
    finds(story)
    changes(story)
    steers(story)
    deletes(story)
    story.stranger.close()
    return story.told


def turns(story: Story) -> None:
    given = {**CHAT, "window": 32_000}
    story.asked("turn", ID, {"messages": [LOGIN], "session": given})
    story.asked("turn", ID, {"after": None, "messages": [LOGIN], "session": given})
    usage = {"prompt_tokens": 30, "completion_tokens": 2}
    body = {"after": "*", "messages": WORK, "usage": usage, "want": None}
    story.operator.post(f"/v1/sessions/{ID}/turn", json=body)
    story.asked("mirror", OTHER, {"messages": LIST, "session": {"format": "openai-chat"}})
    story.asked("mirror", NOWHERE, {"messages": LIST})


def looks(story: Story) -> None:
    view = story.asked("view", ID, tail=False)["view"]
    story.asked("view", ID, format="smoke-signals")
    story.asked("overflow", ID, {"error": TOO_LONG, "sent": view["id"], "want": {"tail": False}})
    story.asked("overflow", ID, {"error": TOO_LONG, "sent": "a view"})
    story.asked("sessions")
    story.asked("sessions", limit=0)
    story.asked("status", ID)
    story.asked("status", NOWHERE)
    story.asked("history", ID, start=0, limit=2)
    story.asked("history", ID, start=-1)
    story.asked("generations", ID)
    story.asked("generations", NOWHERE)
    story.asked("events", ID, limit=2)
    story.streamed()
    story.asked("events", ID, after="yesterday")


def finds(story: Story) -> None:
    story.asked("explain", ID, seq=2)
    story.asked("explain", ID)
    story.asked("recall", ID, handle="m1")
    story.asked("recall", ID, handle="m999")
    story.asked("search", ID, text="database", limit=1)
    story.asked("search", ID, text="")


def changes(story: Story) -> None:
    story.asked("pin", ID, {"ref": 0})
    story.asked("pin", ID, {"ref": "m0"})
    story.asked("unpin", ID, {"ref": 0})
    story.asked("unpin", ID, {"ref": 999})
    story.asked("rewind", ID, {"turns": 1})
    story.asked("rewind", ID, {"turns": 99})
    story.asked("amend", ID, {"ref": 1, "message": user("Step 0, in Python, please.")})
    story.asked("amend", ID, {"ref": 2, "message": {"role": "nobody"}})
    story.asked("fork", ID, {"id": "chat:42:copy", "at": 2})
    story.asked("fork", ID, {"id": "chat:42:copy", "at": 2})
    story.asked("rollback", ID, {"generation": 0, "force": True})
    story.asked("rollback", ID, {"generation": 7})


def steers(story: Story) -> None:
    story.asked("configure", ID, {"window": 200_000})
    story.asked("configure", ID, {"policy": "none of these"})
    story.asked("cancel", ID)
    story.asked("cancel", NOWHERE)
    story.asked("unblock", ID)
    story.asked("unblock", NOWHERE)
    story.asked("replay", ID)
    story.asked("replay", ID, None, story.host)
    story.asked("drop", ID)
    story.asked("drop", NOWHERE)
    story.asked("policies")
    story.asked("policies", "", None, story.stranger)
    story.asked("policy", name="balanced", window=200_000)
    story.asked("policy", name="none of these")
    story.asked("health")
    story.asked("health", "", None, story.stranger)
    story.asked("metrics")
    story.asked("metrics", "", None, story.host)


def deletes(story: Story) -> None:
    story.asked("redact", ID, {"refs": [0], "reason": "asked for by its author"})
    story.asked("redact", ID, {"reason": "asked for by its author"})
    story.asked("purge", ID)
    story.asked("purge", ID, None, story.stranger)


VARY = frozenset({"at", "attended", "id", "sent", "server", "tenant", "version", "workers"})
"""Members whose values differ from run to run: times, opaque names, and what the machine and its workers are."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def shape(value: Any) -> Any:
    """An example without what differs from run to run."""
    if isinstance(value, dict):
        plain = value.get("media") in (STREAM, "text/plain")
        told = {**value, "answer": NUMBER.sub("0", value["answer"])} if plain else value
        return {name: None if name in VARY and one is not None else shape(one) for name, one in told.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return value
