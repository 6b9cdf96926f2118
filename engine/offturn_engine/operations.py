"""What a tool call did to files: by the tool, by simple shell commands, by the body of a patch.

Only plain commands are understood (`cat a`, `sed -i s/x/y/ b`, `rm c`, `mv a b`, `git mv a b`, `cmd > f`); what needs a
shell to know (globs, variables, substitutions) is left out rather than guessed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from offturn_engine.messages import ToolCallPart
from offturn_engine.tools import arguments_of, command_of, family_of, operation, paths_of

Operation = tuple[str, str]
"""(path, what was done): read, written, created, edited, deleted, `moved to X`, `moved from X`."""

LONGEST_COMMAND = 4_000  # characters of a command line that are parsed

READERS = frozenset(["cat", "head", "tail", "less", "more", "bat", "nl", "tac"])
CHANGERS: Mapping[str, str] = {"rm": "deleted", "unlink": "deleted", "touch": "created", "tee": "written"}
VALUED = frozenset({"-n", "-c", "--lines", "--bytes", "-e", "--expression"})
"""Options of these commands that take the next word as their value."""

_MARKS = (">", "<", *READERS, *CHANGERS, "sed", "mv", "cp")
"""Without one of these a command of which nothing is quoted does nothing to a file."""

_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "|&", "(", ")", "\n"})
_QUOTING = re.compile(r"['\"\\]")
_PIECES = r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)"
_QUOTED = re.compile(_PIECES, re.DOTALL)
_ESCAPED = re.compile(r"\\([\"\\])")
_TOKEN = re.compile(r"[();<>|&]+|(?:[^();<>|& \t\r\n'\"\\]+|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.)+", re.DOTALL)
_UNKNOWABLE = re.compile(r"[*?$`{}<>|&;\[\]]")
_HEREDOC = re.compile(r"<<-?\s{0,4}['\"]?\w")
_PATCH = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.{1,1000})$|^\*\*\* Move to: (.{1,1000})$", re.MULTILINE)
_PATCH_WORDS: Mapping[str, str] = {"Add": "created", "Update": "edited", "Delete": "deleted"}
_DIFF = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]{1,1000})", re.MULTILINE)


def operations(call: ToolCallPart) -> list[Operation]:
    """File operations of one call, in order. Never raises on odd arguments."""
    kind = family_of(call)
    if kind == "shell":
        return list(_of_shell(command_of(call)))
    if kind == "read":
        return [(path, "read") for path in paths_of(call)]
    if kind != "write":
        return []
    patched = [op for value in arguments_of(call).values() if isinstance(value, str) for op in _of_patch(value)]
    return patched or [(path, operation(call)) for path in paths_of(call)]


def _of_patch(text: str) -> Iterator[Operation]:
    """Files of an `apply_patch` envelope or a unified diff."""
    if "*** Begin Patch" in text:
        last = ""
        for verb, path, moved in _PATCH.findall(text):
            if moved:
                yield last, f"moved to {moved.strip()}"
                yield moved.strip(), f"moved from {last}"
            else:
                last = path.strip()
                yield last, _PATCH_WORDS[verb]
    elif text.startswith(("--- ", "diff --git ")):
        for path in _DIFF.findall(text):
            if path.strip() != "/dev/null":
                yield path.strip(), "edited"


def _of_shell(command: str) -> Iterator[Operation]:
    if "*** Begin Patch" in command:
        yield from _of_patch(command)
        return
    if _QUOTING.search(command) is None and not any(mark in command for mark in _MARKS):
        return
    folder = ""
    for words in _simple_commands(_script(command)):
        if words[0] == "cd":
            folder = _under(folder, words[1]) if len(words) == 2 and _known(words[1]) else ""
            continue
        for path, done in _of_words(words):
            verb, _, other = done.partition(" ")
            place = f" {other.split(' ', 1)[0]} {_under(folder, other.split(' ', 1)[1])}" if other else ""
            yield _under(folder, path), verb + place


def _under(folder: str, path: str) -> str:
    """The path seen from where the session started, as far as the command says; relative to nothing known it stays."""
    inside = posixpath.join(folder, path) if folder.startswith("/") else path
    return posixpath.normpath(inside) if inside else inside


def _script(command: str) -> str:
    """The part that is parsed: no comment lines, nothing after the line that opens a here-document."""
    lines = [line for line in command[:LONGEST_COMMAND].split("\n") if not line.lstrip().startswith("#")]
    opened = next((i for i, line in enumerate(lines) if _HEREDOC.search(line)), len(lines))
    return "\n".join(lines[: opened + 1])


def _simple_commands(line: str) -> Iterator[list[str]]:
    """The words of each simple command, redirections as `>` followed by their target."""
    try:
        tokens = tokens_of(line.replace("\n", " ; "))
    except ValueError:  # an unbalanced quote: not a plain command
        return
    words: list[str] = []
    for token in [*tokens, ";"]:
        if token in _SEPARATORS or not token.strip(";&|"):
            if words:
                yield words
            words = []
        else:
            words.append(token)


def tokens_of(line: str) -> list[str]:
    """The words and operators of a line, as `shlex` tells them in many times the time. Raises ValueError."""
    tokens: list[str] = _TOKEN.findall(line)
    if not _QUOTING.search(line):
        return tokens
    if _TOKEN.sub("", line).strip(" \t\r\n"):
        raise ValueError("a quote is not closed")
    return [_QUOTED.sub(_unquoted, token) for token in tokens]


def _unquoted(piece: re.Match[str]) -> str:
    single, double, escaped = piece.groups()
    return single or escaped or _ESCAPED.sub(r"\1", double or "")


def _of_words(words: Sequence[str]) -> Iterator[Operation]:
    words, redirected = _redirections(words)
    name, rest = (words[0].rsplit("/", 1)[-1], words[1:]) if words else ("", [])
    if name == "sudo" and rest:
        name, rest = rest[0], rest[1:]
    if name == "git" and rest[:1] in (["rm"], ["mv"]):
        name, rest = rest[0], rest[1:]
    if name in READERS:
        yield from ((p, "read") for p in _files(rest))
    elif name == "sed":
        in_place = any(w.startswith(("-i", "--in-place")) for w in rest)
        files = _files(rest) if any(w in ("-e", "--expression", "-f") for w in rest) else _plain(rest)[1:]
        yield from ((p, "edited" if in_place else "read") for p in files if _known(p))
    elif name in CHANGERS:
        yield from ((p, CHANGERS[name]) for p in _files(rest))
    elif name in ("mv", "cp"):
        yield from _moved(name, _files(rest))
    yield from redirected


def _moved(name: str, files: Sequence[str]) -> Iterator[Operation]:
    """Of `mv` and `cp`: several sources, or a destination that is named as a folder, mean files in that folder."""
    *sources, destination = files or [""]
    into = len(sources) > 1 or destination.endswith("/") or destination in (".", "..")
    for source in sources:
        target = posixpath.join(destination, posixpath.basename(source)) if into else destination
        if name == "mv":
            yield source, f"moved to {target}"
        yield target, f"{'moved' if name == 'mv' else 'copied'} from {source}"


def _redirections(words: Sequence[str]) -> tuple[list[str], list[Operation]]:
    """The words without redirections, and the files that output was sent to."""
    plain: list[str] = []
    written: list[Operation] = []
    skip = False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word in (">", ">>", ">&", "<", "<<", "<<<", "&>", ">|"):
            skip = True
            name = words[i + 1] if i + 1 < len(words) else ""
            arrow = bool(plain) and plain[-1].endswith("-")
            if word in (">", ">>", "&>") and not arrow and _known(name) and name != "/dev/null":
                written.append((name.removeprefix("./"), "edited" if word == ">>" else "written"))
            if plain and plain[-1] in ("1", "2"):
                plain.pop()
        else:
            plain.append(word)
    return plain, written


def _plain(words: Sequence[str]) -> list[str]:
    """Words that are neither options nor the values of options."""
    found = []
    for before, word in zip(["", *words], words, strict=False):
        if not word.startswith("-") and not (before in VALUED and before != "-n"):
            found.append(word)
    return found


def _files(words: Sequence[str]) -> list[str]:
    return [w.removeprefix("./") for w in _plain(words) if _known(w) and not w.lstrip("+").isdigit()]


def _known(word: str) -> bool:
    """Is this word surely one path?"""
    return 0 < len(word) <= 400 and word != "-" and not word.startswith("/dev/") and not _UNKNOWABLE.search(word)
