"""Recounts what `offturn demo --out DIR` wrote, from its files alone: `python tests/acceptance/check_demo.py DIR`.

Prints one line per check. Exit code 0: all hold; 1: a sentence per failure; 2: no folder was given. Nothing of the
project is imported: what a view may look like is written down a second time, so that the demonstration is not its own
judge. Edits that are recognised: the stub of a tool result, its reference to an equal result, shortened strings inside
the arguments of a call. Any other difference between a message as sent and as shown is a failure.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

SAVED = 0.6  # share of the transcript, by the last view
BYTES_PER_TOKEN = 4  # and the account's own numbers are within a factor of two of that
SHOWN = 5  # failures printed per check

SUMMARY = re.compile(r"\[Summary of messages (\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*) of this conversation\.")
HANDLE = r"m(\d+)(?:\.\d+)?"
STUB = re.compile(rf"\[cleared: [^\n]+ · ([\d,]+) lines?, ([\d,]+) characters? · recall {HANDLE}\]")
DUPLICATE = re.compile(rf"\[duplicate: [^\n]+ · same text as {HANDLE} · recall {HANDLE}\]")
OMITTED = re.compile(rf"(.*)… \[([\d,]+) of ([\d,]+) characters omitted · recall {HANDLE}\]", re.DOTALL)
NO_RESULT = "[no result was recorded for this call"

Message = dict[str, Any]


class Unreadable(Exception):
    """The folder is not what the demonstration writes: nothing can be recounted."""


class View(NamedTuple):
    """One request. `sent`: messages of sent.jsonl that went before it; `summary`: its place, `covered`: what it names."""

    turn: int
    generation: int
    messages: list[Message]
    system: Any
    sent: int
    summary: int | None
    covered: frozenset[int]


class Run(NamedTuple):
    """The whole folder."""

    sent: list[Message]
    views: list[View]
    constraints: list[str]
    account: dict[str, Any]


class Slot(NamedTuple):
    """What a place of a view has to show: `content` or `replay` of a message, `summary` from it on, `result` of a call."""

    kind: str
    seq: int = -1
    call: str = ""


def load(folder: Path) -> Run:
    """Read the folder. Raises Unreadable."""
    sent = [_object(line, f"sent.jsonl, line {i}") for i, line in enumerate(_lines(folder / "sent.jsonl"), 1)]
    due = [i for i, message in enumerate(sent) if message.get("role") == "assistant"] + [len(sent)]
    files = sorted((folder / "views").glob("*.json"))
    if [file.name for file in files] != [f"{turn:04}.json" for turn in range(1, len(due) + 1)]:
        raise Unreadable(f"views/ holds {len(files)} files; due are {len(due)}: one a model call and one at the end")
    views = [_view(file, turn, due[turn - 1], sent) for turn, file in enumerate(files, 1)]
    return Run(sent, views, _lines(folder / "constraints.txt"), _object(_text(folder / "account.json"), "account.json"))


def _view(file: Path, turn: int, count: int, sent: Sequence[Message]) -> View:
    value = _object(_text(file), file.name)
    number, messages = value.get("generation"), value.get("messages")
    if value.get("turn") != turn or not isinstance(number, int) or not isinstance(messages, list):
        raise Unreadable(f"{file.name} needs turn {turn}, the number of a generation, and messages")
    if not messages or not all(isinstance(message, dict) for message in messages):
        raise Unreadable(f"{file.name} needs messages, each an object")
    found = [i for i, m in enumerate(messages) if SUMMARY.match(text(m)) and not any(same(m, other) for other in sent)]
    covered = _named(text(messages[found[0]])) if found else frozenset[int]()
    return View(turn, number, messages, value.get("system"), count, found[0] if found else None, covered)


def _named(summary: str) -> frozenset[int]:
    ranges = re.findall(r"(\d+)(?:-(\d+))?", match[1]) if (match := SUMMARY.match(summary)) else []
    return frozenset(i for low, high in ranges for i in range(int(low), int(high or low) + 1))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file.name} cannot be read: {error}") from None


def _lines(file: Path) -> list[str]:
    return [line for line in _text(file).split("\n") if line]


def _object(source: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(source)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Unreadable(f"{name} is no JSON object")
    return value


def text(message: Message) -> str:
    """The text a model reads in it."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def same(a: Any, b: Any) -> bool:
    """Equal as JSON values: key order does not count, 1 and true differ."""
    return a == b and json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def slots(run: Run, view: View) -> list[Slot]:
    """What the view has to show, place by place: each result behind its call, the summary where its ranges begin."""
    visible = [i for i in range(view.sent) if i not in view.covered]
    answers = _answers(run.sent[: view.sent])
    summary = _summary_slots(run, view)
    found: list[Slot] = []
    placed: set[int] = set()
    for i in visible:
        if i in placed:
            continue
        if i > min(view.covered, default=i):
            found, summary = found + summary, []
        group = sorted({i, *(a for _, a in answers[i] if a is not None and a not in view.covered)})
        placed.update(group)
        found += [Slot("content", seq) for seq in group]
        if len(placed) < len(visible):
            found += [Slot("result", call=call) for call, answer in answers[i] if answer is None]
    return found + summary


def _summary_slots(run: Run, view: View) -> list[Slot]:
    """The summary and, where it still waited for its answer, the last covered human message once more."""
    if view.summary is None:
        return []
    asked = max((i for i in view.covered if i < view.sent and run.sent[i].get("role") == "user"), default=-1)
    following = view.messages[view.summary + 1 : view.summary + 2]
    replayed = asked >= 0 and following and same(following[0], run.sent[asked])
    return [Slot("summary", min(view.covered)), *([Slot("replay", asked)] if replayed else [])]


def _answers(sent: Sequence[Message]) -> dict[int, list[tuple[str, int | None]]]:
    """(id of the call, index of its result) by message; a result answers the oldest open call of its id."""
    waiting: dict[str, deque[tuple[int, int]]] = defaultdict(deque)
    found: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
    for i, message in enumerate(sent):
        if message.get("role") == "tool" and waiting[message["tool_call_id"]]:
            at, place = waiting[message["tool_call_id"]].popleft()
            found[at][place] = (message["tool_call_id"], i)
        for call in message.get("tool_calls") or ():
            waiting[call["id"]].append((i, len(found[i])))
            found[i].append((call["id"], None))
    return found


def shows(message: Message, slot: Slot, sent: Sequence[Message]) -> bool:
    """Is this what the slot asks for?"""
    if slot.kind == "summary":
        return message.get("role") == "user" and SUMMARY.match(text(message)) is not None
    if slot.kind == "result":
        return _is_synthetic(message) and message.get("tool_call_id") == slot.call
    return same(message, sent[slot.seq]) or _is_edit(message, slot.seq, sent)


def _is_synthetic(message: Message) -> bool:
    return message.get("role") == "tool" and text(message).startswith(NO_RESULT)


def _is_edit(shown: Message, index: int, sent: Sequence[Message]) -> bool:
    original = sent[index]
    key = {"tool": "content", "assistant": "tool_calls"}.get(original["role"], "")
    if not key or key not in shown or not same({**shown, key: None}, {**original, key: None}):
        return False
    if key == "content":
        return _is_stub(text(shown), index, sent)
    pairs = list(zip(shown[key], original[key], strict=False))
    return len(pairs) == len(shown[key]) == len(original[key]) and all(_is_call(a, b, index) for a, b in pairs)


def _is_stub(stub: str, index: int, sent: Sequence[Message]) -> bool:
    """One line with the result's own handle and its true size, or a result with the same text; then lines of it."""
    first, *kept = stub.split("\n")
    original = text(sent[index])
    if not all(line == "…" or line in original for line in kept) or len(stub) >= len(original):
        return False
    if facts := STUB.fullmatch(first):
        return _numbers(*facts.groups()) == [original.count("\n") + 1, len(original), index]
    newest, handle = _numbers(*facts.groups()) if (facts := DUPLICATE.fullmatch(first)) else (0, -1)
    return handle == index < newest < len(sent) and text(sent[newest]) == original


def _is_call(shown: Message, original: Message, index: int) -> bool:
    bare = [{**call, "function": {**call["function"], "arguments": ""}} for call in (shown, original)]
    arguments = [json.loads(call["function"]["arguments"]) for call in (shown, original)]
    return same(*bare) and _is_shrunk(arguments[0], arguments[1], index)


def _is_shrunk(shown: Any, original: Any, index: int) -> bool:
    """The same value, except strings cut to a head and a marker with the message's handle and the true sizes."""
    if isinstance(shown, dict) and isinstance(original, dict):
        return shown.keys() == original.keys() and all(_is_shrunk(v, original[k], index) for k, v in shown.items())
    if isinstance(shown, list) and isinstance(original, list):
        pairs = zip(shown, original, strict=False)
        return len(shown) == len(original) and all(_is_shrunk(a, b, index) for a, b in pairs)
    if isinstance(shown, str) and isinstance(original, str) and (cut := OMITTED.fullmatch(shown)):
        head, *sizes = cut.groups()
        told = _numbers(*sizes) == [len(original) - len(head), len(original), index]
        return shown == original or (told and original.startswith(head))
    return same(shown, original)


def _numbers(*digits: str) -> list[int]:
    return [int(number.replace(",", "")) for number in digits]


def nothing_lost(run: Run) -> Iterator[str]:
    """All that was sent is there or covered, in order; nothing else is there."""
    for view in run.views:
        for place, (message, slot) in enumerate(zip_longest(view.messages, slots(run, view))):
            if message is None or slot is None or not shows(message, slot, run.sent):
                due = f"the {slot.kind} of {slot.call or f'message {slot.seq}'}" if slot else "its end"
                yield f"view {view.turn}, place {place}: due is {due}, {'another message' if message else 'its end'} is there"
                break
        if (last := max(view.covered, default=-1)) >= view.sent:
            yield f"view {view.turn}: the summary names message {last}, {view.sent} were sent"


def words_kept(run: Run) -> Iterator[str]:
    """The whole text of each human message so far is in some message; so is each constraint, a human's own words."""
    humans = [(i, text(message)) for i, message in enumerate(run.sent) if message.get("role") == "user"]
    stated = [(next((i for i, words in humans if one in words), -1), one) for one in run.constraints]
    if not run.constraints:
        yield "constraints.txt holds no constraint"
    yield from (f"no human message of sent.jsonl states the constraint {one!r}" for i, one in stated if i < 0)
    for view in run.views:
        shown = [text(message) for message in view.messages]
        for i, words in humans + stated:
            if i < view.sent and not any(words in other for other in shown):
                yield f"view {view.turn}: not there word for word, from message {i}: {words[:60]!r}"


def valid_requests(run: Run) -> Iterator[str]:
    """A provider would accept each view, and a model would have something to answer."""
    for view in run.views:
        yield from (f"view {view.turn}, {problem}" for problem in _problems(view.messages))
        if view.summary == len(view.messages) - 1:
            yield f"view {view.turn} ends with the summary"
        elif view is not run.views[-1] and view.messages[-1].get("role") == "assistant":
            yield f"view {view.turn} ends with a message of the assistant: there is nothing to answer"


def _problems(messages: Sequence[Message]) -> Iterator[str]:
    """What a provider would refuse; calls still open at the very end are not among it."""
    waiting: list[str] = []
    for place, message in enumerate(messages):
        role, calls = message.get("role"), message.get("tool_calls") or []
        if role not in ("system", "developer", "user", "assistant", "tool"):
            yield f"place {place}: {role!r} is no role"
        if role == "tool" and message.get("tool_call_id") in waiting:
            waiting.remove(message["tool_call_id"])
        elif role == "tool":
            yield f"place {place}: a result that follows no call of its id"
        elif waiting:
            yield f"place {place}: calls before it have no result: {', '.join(waiting)}"
        if role != "tool":
            waiting = [str(call.get("id")) for call in calls]
        if not text(message) and not calls and role != "tool":
            yield f"place {place}: neither content nor calls"
        yield from (f"place {place}: the call {call.get('id')} is not whole" for call in calls if not _is_whole(call))


def _is_whole(call: Message) -> bool:
    """With id, type, name, and arguments that are JSON."""
    try:
        json.loads(call["function"]["arguments"])
        return bool(call["id"] and call["type"] == "function" and call["function"]["name"])
    except (KeyError, TypeError, ValueError):
        return False


def small_enough(run: Run) -> Iterator[str]:
    """By bytes, and by the tokens of the account (which `totals_true` holds against the bytes)."""
    tokens = (run.account.get("tokens_before", 0), run.account.get("tokens_after", 0))
    for name, (before, after) in {"bytes": (_size(run.sent), _size(run.views[-1].messages)), "tokens": tokens}.items():
        if after > before * (1 - SAVED):
            yield f"the last view has {after} {name}, the transcript {before}: less than {SAVED:.0%} saved"


def _size(messages: Sequence[Message]) -> int:
    return len(json.dumps(messages, ensure_ascii=False).encode(errors="surrogatepass"))


def totals_true(run: Run) -> Iterator[str]:
    """The account counts what the files hold."""
    facts = run.account
    due = {"messages_sent": len(run.sent), "lost": 0, "altered": 0, "generations": len(facts["compactions"])}
    yield from (f"account: {k} is {facts[k]}, recounted {v}" for k, v in due.items() if not same(facts[k], v))
    for key, messages in (("tokens_before", run.sent), ("tokens_after", run.views[-1].messages)):
        estimate = _size(messages) / BYTES_PER_TOKEN
        if not estimate / 2 <= facts[key] <= estimate * 2:
            yield f"account: {key} is {facts[key]}, recounted about {estimate:.0f}"


def generations_true(run: Run) -> Iterator[str]:
    """The account names what the summaries name; one of each kind is there; what is covered stays covered."""
    kept = {one["number"]: one for one in run.account["compactions"]}
    covered = {n: frozenset(i for a, b in one["covered"] for i in range(a, b)) for n, one in kept.items()}
    covered[0] = frozenset()
    if list(kept) != list(range(1, len(kept) + 1)) or len(kept) < 3:
        yield f"account: due are three generations or more, numbered from 1; there are {list(kept)}"
    for reason in sorted({"threshold", "phase"} - {one["reason"] for one in kept.values()}):
        yield f"account: no compaction has the reason {reason}"
    updates = [n for n, one in kept.items() if covered[n] > covered[one["replaces"]] > frozenset()]
    claimed = [n for n, one in kept.items() if one["update"]]
    if not updates or updates != claimed:
        yield f"account: one or more updates of a summary with further messages are due; said {claimed}, found {updates}"
    for n, one in kept.items():
        if not covered[one["replaces"]] <= covered[n]:
            yield f"account: generation {n} covers less than generation {one['replaces']}, which it replaces"
    for view in run.views:
        if covered.get(view.generation) != view.covered:
            yield f"view {view.turn} names other messages than the account does for generation {view.generation}"
    for earlier, later in pairwise(run.views):
        if later.generation > earlier.generation and not earlier.covered <= later.covered:
            yield f"view {later.turn} covers less than view {earlier.turn}, of an older generation"


def grows_at_its_end(run: Run) -> Iterator[str]:
    """Within a generation each view begins with the one before, so that a provider's cache holds."""
    newest: dict[int, View] = {}
    for view in run.views:
        earlier = newest.get(view.generation)
        if earlier and not _is_prefix(earlier.messages, view.messages):
            yield f"view {view.turn} does not begin with view {earlier.turn}, of the same generation"
        if not same(view.system, run.views[0].system):
            yield f"view {view.turn} has another system prompt than view 1"
        newest[view.generation] = view


def _is_prefix(earlier: Sequence[Message], later: Sequence[Message]) -> bool:
    """A real result may have taken the place of a synthetic one."""
    real = [a if same(a, b) or not _is_synthetic(a) else b for a, b in zip(earlier, later, strict=False)]
    return len(earlier) <= len(later) and same(real, list(later[: len(earlier)]))


CHECKS: dict[str, Callable[[Run], Iterator[str]]] = {
    "everything sent is visible, covered or recognisably edited, and nothing else is shown": nothing_lost,
    "every human message and every constraint is word for word in every view from then on": words_kept,
    "every view is a valid request": valid_requests,
    f"the last view is at least {SAVED:.0%} smaller than the transcript": small_enough,
    "the account's totals agree with the recount": totals_true,
    "the account's generations are those of the views, one of each kind": generations_true,
    "views of one generation only grow at their end": grows_at_its_end,
}


def main(arguments: Sequence[str]) -> int:
    """Check one folder; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python tests/acceptance/check_demo.py DIR", file=sys.stderr)
        return 2
    try:
        run = load(Path(arguments[0]))
    except Unreadable as error:
        print(f"FAIL  {error}")
        return 1
    failed = 0
    for name, check in CHECKS.items():
        found = _failures(check, run)
        failed += len(found)
        print(f"FAIL  {name}: {len(found)} times" if found else f"ok    {name}")
        print(*(f"      {sentence}\n" for sentence in found[:SHOWN]), sep="", end="")
    return 1 if failed else 0


def _failures(check: Callable[[Run], Iterator[str]], run: Run) -> list[str]:
    try:
        return list(check(run))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return [f"a message, or the account, has a shape that is not known: {type(error).__name__} {error}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
