"""Planted facts of known kinds: what is said or done in a conversation, and what of it must still be there afterwards.

Phrasings are tables per kind; English, Spanish and Chinese. Values are made from a seed, so that nothing but the
conversation can know them. Messages are raw openai-chat; only `Random.random` is used, whose numbers no Python changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

Raw = dict[str, Any]
Thing = TypeVar("Thing")

RECENT = "recent work"
"""The kind that is planted where the conversation stands."""

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"

SAID: Mapping[str, tuple[str, ...]] = {
    "constraint": (
        "Never restart the {word} service during business hours.",
        "Don't commit anything below {path}; those files are generated.",
        "You may read the {word} database but must not write to it.",
        "Everything that leaves the company goes through {name} first, without exception.",
        "Nunca borres la tabla {word} aunque falle la migración.",
        "No uses la clave {code} fuera de pruebas.",
        "不要修改 {path} 里的任何文件。",
        "所有发布都必须先经过 {name} 批准。",
    ),
    "preference": (
        "I prefer short answers that start with the {word} status.",
        "When you finish a step, say {word} so that my script notices.",
        "Write commit messages in the {word} style.",
        "End every summary with the tag {code}.",
        "My favourite test runner is {word}, use it for new suites.",
        "Prefiero que los informes usen el formato {word}.",
        "我更喜欢用 {word} 风格写注释。",
        "Address me as {name} in reports.",
    ),
    "decision": (
        "We decided to keep {word} instead of rewriting it, because the importer depends on it.",
        "Let's go with the {word} queue.",
        "After comparing both, I chose {word} since it needs no migration.",
        "The root cause was the stale {word} cache on node {code}.",
        "Decidimos usar {word} porque ya está desplegado.",
        "我们决定用 {word},因为它更稳定。",
    ),
    "next": (
        "Next step: move the {word} handler behind the flag.",
        "Still to do: backfill the {word} column.",
        "The {word} check is still failing and needs to be looked at.",
        "Queda pendiente revisar el módulo {word}.",
        "下一步是迁移 {word} 模块。",
        "To do: rename the {word} endpoint.",
    ),
    "value": (
        "The staging host is {host}.",
        "Our contact at the vendor is {name}.",
        "The monthly limit for this account is {money}.",
        "The release is planned for {date}.",
        "The {word} service listens on port {port}.",
        "Customer number: {code}.",
        "El presupuesto total es de {money}.",
        "El servidor de pruebas está en {host}.",
        "负责人是 {name}。",
        "预算是 {money}。",
    ),
}
"""What people say, or the agent in its answers; what stands in braces must survive."""

CHANGED: tuple[tuple[str, str], ...] = (
    ("The deploy window is {date}.", "The deploy window is now {date}."),
    ("Releases are approved by {name}.", "From today releases are approved by {name}."),
    ("The budget for {word} is {money}.", "The budget for {word} has been raised to {money}."),
    ("The gateway listens on port {port}.", "The gateway now listens on port {port}."),
    ("La fecha de entrega es {date}.", "La fecha de entrega ahora es {date}."),
    ("联系人是 {name}。", "联系人改为 {name}。"),
)
"""A value, and the later statement that replaces it."""


@dataclass(frozen=True, slots=True)
class Plant:
    """messages stand together; needles are what must be found; stale must not be found without `was` before it."""

    kind: str
    messages: tuple[Raw, ...]
    needles: tuple[str, ...]
    stale: str = ""


class Values:
    """Made-up values by the names that stand in braces."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def one_of(self, things: Sequence[Thing]) -> Thing:
        return things[int(self.random.random() * len(things))]

    def shuffled(self, things: Sequence[Thing]) -> list[Thing]:
        return sorted(things, key=lambda _: self.random.random())

    def made(self, name: str) -> str:
        word = "".join(self.one_of(CONSONANTS) + self.one_of(VOWELS) for _ in range(3)) + self.one_of(CONSONANTS)
        digits = str(100 + int(self.random.random() * 900))
        makers: Mapping[str, Callable[[], str]] = {
            "word": lambda: word,
            "name": lambda: f"{word.title()} {self.made('word').title()}",
            "code": lambda: f"{word[:4].upper()}-{digits}",
            "path": lambda: f"src/{word}/{self.made('word')}.py",
            "host": lambda: f"{word}.example.net",
            "money": lambda: f"${digits}",
            "date": lambda: f"2027-0{1 + int(digits) % 9}-{10 + int(digits) % 18}",
            "port": lambda: f"4{digits}",
            "hash": lambda: "".join(self.one_of("0123456789abcdef") for _ in range(5)) + "a7",
        }
        return makers[name]()

    def filled(self, template: str, **given: str) -> tuple[str, list[str]]:
        """The sentence and the values in it."""
        values: list[str] = []
        text = template
        while "{" in text:
            name = text[text.index("{") + 1 : text.index("}")]
            value = given.get(name) or self.made(name)
            values.append(value)
            text = text.replace("{" + name + "}", value, 1)
        return text, values


def plants(seed: int, each: int = 3) -> list[Plant]:
    """So many of every kind, in the order in which they are to be planted; a changed value gives two, `recent` come last."""
    values = Values(Random(seed))
    said = {kind: values.shuffled(templates) for kind, templates in SAID.items()}
    changed = values.shuffled(CHANGED)
    made: list[Plant] = []
    for i in range(each):
        made += [_said(kind, values, templates[i]) for kind, templates in said.items()]
        made += _changed(values, *changed[i])
        made += [make(values) for make in (_file, _command, _solved, _commit, _link)]
    made += [_todo(values), *(_recent(values) for _ in range(each))]
    return made


def _turn(text: str, reply: str = "All right.") -> tuple[Raw, ...]:
    return ({"role": "user", "content": text}, {"role": "assistant", "content": reply})


def _said(kind: str, values: Values, template: str) -> Plant:
    text, needles = values.filled(template)
    if kind in ("decision", "next") and values.random.random() < 0.5:
        return Plant(kind, _turn("Where are we?", text), tuple(needles))
    return Plant(kind, _turn(text), tuple(needles))


def _changed(values: Values, before: str, after: str) -> Iterator[Plant]:
    word = values.made("word")
    old, gone = values.filled(before, word=word)
    new, needles = values.filled(after, word=word)
    yield Plant("", _turn(old), ())
    yield Plant("changed value", _turn(new), tuple(needles[-1:]), stale=gone[-1])


def _called(values: Values, name: str, arguments: Raw, result: str) -> tuple[Raw, ...]:
    number = f"call_{values.made('word')}{values.made('port')}"
    asked = {"id": number, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return (
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": number, "content": result},
    )


def _doing(kind: str, messages: tuple[Raw, ...], needles: tuple[str, ...]) -> Plant:
    return Plant(
        kind, ({"role": "user", "content": "Go on."}, *messages, {"role": "assistant", "content": "Done."}), needles
    )


def _file(values: Values) -> Plant:
    path = values.made("path")
    edit = {"path": path, "old_str": "a", "new_str": "b"}
    return _doing("file", _called(values, "str_replace", edit, "The file was edited."), (path,))


def _command(values: Values) -> Plant:
    path, name = values.made("path"), values.made("word")
    failed = f"collected 9 items\nE   AssertionError: {name} is not ready\n1 failed, 8 passed\nexit code: 1"
    return _doing(
        "command", _called(values, "bash", {"command": f"pytest -q {path}"}, failed), (path, f"{name} is not ready")
    )


def _solved(values: Values) -> Plant:
    path, name = values.made("path"), values.made("word")
    run = {"command": f"python -m build {path}"}
    messages = (
        *_called(values, "bash", run, f"error: cannot import {name}\nexit code: 2"),
        *_called(values, "write_file", {"path": path, "content": "x = 1\n"}, "ok"),
        *_called(values, "bash", run, "built\nexit code: 0"),
    )
    return _doing("solved error", messages, (f"cannot import {name}",))


def _commit(values: Values) -> Plant:
    sha, name = values.made("hash"), values.made("word")
    run = {"command": f"git commit -m 'tidy {name}'"}
    return _doing("identifier", _called(values, "bash", run, f"[main {sha}] tidy {name}\n 1 file changed"), (sha,))


def _link(values: Values) -> Plant:
    link = f"https://{values.made('host')}/pull/{values.made('port')}"
    return Plant("identifier", _turn("Open it for review, please.", f"It is open for review: {link}"), (link,))


def _recent(values: Values) -> Plant:
    """What the agent has just read and found, in words no rule knows: where it goes on from here."""
    name, found = values.made("word"), values.made("word")
    read = _called(values, "read_file", {"path": values.made("path")}, f"def {name}(x):\n    return {found}(x) + 1")
    note = {"role": "assistant", "content": f"So {name} wraps {found}, which drops the sign."}
    return Plant(
        RECENT, ({"role": "user", "content": "Have a look at it."}, *read, note), (name, found, "drops the sign")
    )


def _todo(values: Values) -> Plant:
    done, left = values.made("word"), values.made("word")
    items = [
        {"content": f"remove the {done} shim", "status": "completed"},
        {"content": f"port the {left} adapter", "status": "in_progress"},
    ]
    return _doing(
        "to-do item",
        _called(values, "TodoWrite", {"todos": items}, "Todos have been modified."),
        (f"port the {left} adapter",),
    )
