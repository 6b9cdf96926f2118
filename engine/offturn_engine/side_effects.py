"""Did a tool call change the outside world? Judged call by call; what is not known to be harmless counts as a change.

The rules are tables (`side_effect_rules`); a shell line is judged by each command in it, however it is wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from offturn_engine import side_effect_rules as rules
from offturn_engine.messages import ToolCallPart
from offturn_engine.operations import operations
from offturn_engine.shell import Command, Unreadable, commands
from offturn_engine.tools import arguments_of, command_of, family_of, is_code, is_mcp

DEEPEST = 12  # commands inside commands

_SQL_WRITES, _SQL_READS = re.compile(rules.SQL_WRITES), re.compile(rules.SQL_READS)
_CODE, _SHELL_ESCAPE = re.compile(rules.CODE), re.compile(rules.SHELL_ESCAPE)
_ALWAYS = frozenset(name for names in rules.ALWAYS.values() for name in names.split())
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_READS = {name: frozenset(words.split()) for name, words in rules.READ_ONLY.items()}
_CHANGES = {name: frozenset(words.split()) for name, words in rules.CHANGING.items()}
_WRAPPERS = {name: frozenset(words.split()) for name, words in rules.WRAPPERS.items()}
_RUNS = {name: frozenset(words.split()) for name, words in rules.RUNS.items()}
_GROUPED_READS = frozenset(rules.GROUPED_READS.split())
_CLOUDS = frozenset(rules.CLOUDS.split())
_SQL_CLIENTS = frozenset(rules.SQL_CLIENTS.split())
_SQL_SCRIPTS = frozenset(rules.SQL_SCRIPTS.split())
_FETCHERS = frozenset(rules.FETCHERS.split())
_METHODS = frozenset(rules.METHODS.split())
_METHOD_OPTIONS = frozenset(rules.METHOD_OPTIONS.split())
_BODIES = frozenset(rules.BODIES.split())
_PLACE_FIRST = frozenset(rules.PLACE_FIRST.split())
_PLACED = frozenset(rules.PLACED.split())
_VALUED = frozenset(rules.VALUED.split())
_SHELLS = frozenset(rules.SHELLS.split())
_INTERPRETERS = frozenset(rules.INTERPRETERS.split())
_CODE_OPTIONS = frozenset(rules.CODE_OPTIONS.split())
_VERBS = frozenset(rules.VERBS.split())
_CALM = frozenset(rules.CALM.split())
_HARMLESS = frozenset(rules.HARMLESS.split())
_READING_TOOLS = frozenset(rules.READING_TOOLS.split())
_CLOUD_READS, _CLOUD_CHANGES = frozenset(rules.CLOUD_READS.split()), frozenset(rules.CLOUD_CHANGES.split())


def changes_outside(call: ToolCallPart) -> bool:
    """Is the result of this call the record of a change that running it again would not show again?"""
    kind = family_of(call)
    if kind in _READING_TOOLS:
        return False
    if kind == "web":
        return _sends(call)
    if kind == "other" or is_mcp(call.name):
        return True
    if kind == "write":
        return any(done == "deleted" or done.startswith("moved") for _, done in operations(call))
    return code_changes(command_of(call)) if is_code(call.name) else line_changes(command_of(call))


def line_changes(line: str, depth: int = 0) -> bool:
    """Does any command of a shell line change the outside world? A line that cannot be read counts as a change."""
    if depth > DEEPEST:
        return True
    try:
        found = commands(line)
    except Unreadable:
        return True
    return any(_changes(command, depth) for command in found)


def code_changes(code: str) -> bool:
    """Does code for an interpreter do so, as far as its text tells?"""
    return _CODE.search(code) is not None or any(line_changes(line) for line in _SHELL_ESCAPE.findall(code))


def _sends(call: ToolCallPart) -> bool:
    """Of a call that fetches or browses: another method than GET, a body, or clicks."""
    arguments = arguments_of(call)
    method = arguments.get("method")
    if isinstance(method, str) and method.lower() in _METHODS:
        return True
    return any(
        isinstance(v, str) and _CODE.search(v) is not None for k, v in arguments.items() if k in ("code", "action")
    )


def _changes(command: Command, depth: int) -> bool:
    words = command.words
    name = _program(words[0])
    rest = words[1:]
    if any(word in _HARMLESS for word in rest) or rest == ["--version"]:
        return False
    for judge in (_wrapped, _shell, _known, _interpreted, _named):
        verdict = judge(name, rest, command, depth)
        if verdict is not None:
            return verdict
    return False


def _program(word: str) -> str:
    name = word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1].lower().removesuffix(".exe")
    return rules.SAME_AS.get(name, name)


def _wrapped(name: str, rest: Sequence[str], command: Command, depth: int) -> bool | None:
    """The command behind `sudo`, `xargs`, `poetry run`, `kubectl exec POD --`, `find -exec`."""
    if name == "docker" and rest[:1] == ["compose"]:
        return _changes(Command(["compose", *rest[1:]], command.stdin, command.source), depth + 1)
    if name == "find":
        return "-delete" in rest or any(_again(inner, command, depth) for inner in _executed(rest))
    inner: list[str] | None = None
    if name in _WRAPPERS:
        inner = _behind(rest, _WRAPPERS[name])
        inner = inner[1:] if name in _PLACE_FIRST else inner
    elif name in _RUNS:
        behind = _behind(rest, _VALUED)
        if behind and behind[0] in _RUNS[name]:
            inner = _behind(behind[1:], _VALUED)
            if name in _PLACED:
                inner = _behind(inner[1:], frozenset())
    return None if inner is None else _again(inner, command, depth)


def _again(words: Sequence[str], command: Command, depth: int) -> bool:
    """The judgement of words that are a command; a single quoted one is a line."""
    if not words:
        return False
    if len(words) == 1 and " " in words[0]:
        return line_changes(words[0], depth + 1)
    return depth >= DEEPEST or _changes(Command(list(words), command.stdin, command.source), depth + 1)


def _executed(words: Sequence[str]) -> list[list[str]]:
    """The commands of `find -exec ... ;`."""
    found: list[list[str]] = []
    inside = False
    for word in words:
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inside = True
            found.append([])
        elif word in (";", "+"):
            inside = False
        elif inside:
            found[-1].append(word)
    return found


def _behind(words: Sequence[str], valued: frozenset[str]) -> list[str]:
    """What follows the options, their values, `--` and assignments."""
    i = 0
    while i < len(words):
        word = words[i]
        if word == "--":
            return list(words[i + 1 :])
        if not word.startswith("-") and not re.match(r"[A-Za-z_]\w*=", word):
            break
        i += 2 if word in valued else 1
    return list(words[i:])


def _shell(name: str, rest: Sequence[str], command: Command, depth: int) -> bool | None:
    """The line that a shell is given: `bash -lc LINE`, `eval LINE`, `ssh HOST LINE`, a here-document."""
    if name == "eval":
        return line_changes(" ".join(rest), depth + 1)
    if name == "ssh":
        line = " ".join(
            _behind(
                rest, frozenset(["-i", "-p", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-W", "-E", "-b", "-c", "-m"])
            )[1:]
        )
        return line_changes(line or command.stdin, depth + 1) if line or command.stdin else True
    if name not in _SHELLS:
        return None
    for i, word in enumerate(rest):
        if re.fullmatch(r"-[a-zA-Z]*c|/c|-command", word, re.IGNORECASE):
            return line_changes(" ".join(rest[i + 1 :]) if name == "cmd" else "".join(rest[i + 1 : i + 2]), depth + 1)
    script = _behind(rest, frozenset({"-o", "-O"}))
    if script and name != "su":
        return _tells(script[0])
    if command.stdin and not command.stdin.startswith("< "):
        return line_changes(command.stdin, depth + 1)
    return bool(command.given) or name == "su"


def _known(name: str, rest: Sequence[str], command: Command, _: int) -> bool | None:
    """What the tables say of a program and its subcommand."""
    if name in _ALWAYS:
        return True
    if name in _FETCHERS:
        return _writes_over_http(name, rest)
    if name in _SQL_CLIENTS:
        return _writes_sql(rest, command)
    if name == "rsync":
        return any(":" in w or w in ("--delete", "--remove-source-files") for w in rest)
    if name == "gh":
        return _grouped(rest)
    if name in _CLOUDS:
        return _cloud(rest)
    behind = _behind(rest, _VALUED)
    forms = {*behind[:1], "|".join([*behind[:1], *(rest[rest.index(behind[0]) + 1 :][:1] or [""])]) if behind else ""}
    if name in _READS:
        alone = not behind or rest[:1] == ["-l"] or rest[:1] == ["-a"]
        return not alone and not forms & _READS[name] if behind else bool(rest) and rest[0] not in _READS[name]
    if name in _CHANGES and forms & _CHANGES[name]:
        return True
    return None


def _grouped(rest: Sequence[str]) -> bool:
    plain = [w for w in rest if not w.startswith("-")]
    if plain[:1] == ["api"]:
        graphql = "graphql" in plain
        query = " ".join(rest)
        return "mutation" in query if graphql else _writes_over_http("gh", rest)
    return bool(plain) and not _GROUPED_READS & set(plain[:2])


def _cloud(rest: Sequence[str]) -> bool:
    for word in (w for w in rest if not w.startswith("-")):
        start = word.split("-", 1)[0]
        if start in _CLOUD_CHANGES:
            return True
        if start in _CLOUD_READS:
            return False
    return any(not w.startswith("-") for w in rest)


def _writes_over_http(name: str, rest: Sequence[str]) -> bool:
    method = ""
    body = False
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        option, _, value = word.partition("=")
        if option in _METHOD_OPTIONS:
            method = value or following
        elif option in _BODIES or (name == "gh" and word in ("-f", "-F")):
            body = True
        elif name == "curl" and re.match(r"-[a-zA-Z]", word):
            found, sends = _letters(word, following)
            method, body = found or method, body or sends
    if name in ("http", "https", "xh"):
        plain = [w for w in rest if not w.startswith("-")]
        method = plain[0] if plain and plain[0].lower() in {*_METHODS, "get", "head", "options"} else method
        body = body or any(re.match(r"[\w.\[\]-]+:?=(?!=)", w) for w in plain)
    if method:
        return method.lower() in _METHODS
    return body and not {"-G", "--get"} & set(rest)


def _letters(word: str, following: str) -> tuple[str, bool]:
    """(method, is there a body) of curl's letters in one word, such as `-sXPOST`."""
    for i, letter in enumerate(word[1:], 1):
        if letter == "X":
            return word[i + 1 :] or following, False
        if letter in "dFTQ":
            return "", True
        if letter in rules.CURL_VALUED:
            break
    return "", False


def _writes_sql(rest: Sequence[str], command: Command) -> bool:
    text = "\n".join([*rest, command.given])
    if _SQL_WRITES.search(text) or command.stdin.startswith("< "):
        return True
    if any(w.partition("=")[0] in _SQL_SCRIPTS or w.endswith((".js", ".sql")) for w in rest):
        return True
    return bool(command.given) and not _SQL_READS.search(text)


def _interpreted(name: str, rest: Sequence[str], command: Command, depth: int) -> bool | None:
    """Code, modules and scripts of an interpreter; targets of `make` and `npm run`."""
    if name in _INTERPRETERS:
        for i, word in enumerate(rest):
            if word == rules.MODULE_OPTION and name.startswith(("python", "pypy")):
                return _again(rest[i + 1 :], command, depth)
            if word in _CODE_OPTIONS:
                return code_changes(" ".join(rest[i + 1 : i + 2]))
            if not word.startswith("-"):
                break
        script = _behind(rest, frozenset())
        if script and _program(script[0]) in _CHANGES:
            return _changes(Command([_program(script[0]), *script[1:]]), depth + 1)
        if script and name not in rules.RUNNERS:
            return _tells(script[0])
        if command.stdin or command.source:
            return code_changes(command.given)
    if name not in rules.RUNNERS:
        return None
    if name == "make" and {"-n", "--just-print"} & set(rest):
        return False
    return _target(rules.RUNNERS[name].split(), [w for w in _behind(rest, _VALUED) if not w.startswith("-")])


def _target(where: Sequence[str], plain: Sequence[str]) -> bool:
    if not plain:
        return False
    if "*" in where:
        return any(_tells(w) for w in plain if "=" not in w)
    if plain[0] in where:
        return any(_tells(w) for w in plain[1:2])
    return "*1" in where and _tells(plain[0])


def _named(name: str, rest: Sequence[str], command: Command, depth: int) -> bool:  # noqa: ARG001 -- as its siblings
    """A program or script that nobody knows, by the words of its name."""
    return _tells(name)


def _tells(path: str) -> bool:
    """Do the words of a name, such as `scripts/publish_release.py`, tell of a change?"""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    words = {w.lower() for w in _WORDS.findall(name.removesuffix("." + name.rsplit(".", 1)[-1]))}
    return bool(words & _VERBS) and not words & _CALM
