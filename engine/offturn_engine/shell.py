"""A command line as simple commands: what runs inside `&&`, `;`, pipes, subshells, substitutions and here-documents.

Enough of the grammar of POSIX shells to find every command that a line would run; nothing is expanded. Time is linear in
the length of the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LONGEST = 200_000  # characters of a line that are read
DEEPEST = 40  # nested substitutions

_OPENING = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done", "esac"}
)
_SKIPPED = frozenset({"for", "case", "select", "function", "in"})
_ENDS = frozenset(";&|\n()")


class Unreadable(ValueError):
    """The line is longer, deeper or less balanced than a shell would take."""


@dataclass(slots=True)
class Command:
    """One simple command. `stdin`: its here-document, here-string or `< file`. `source`: the command before its pipe."""

    words: list[str] = field(default_factory=list)
    stdin: str = ""
    source: Command | None = None

    @property
    def given(self) -> str:
        """What it reads, as far as the line says: the text itself, or the words of the command that writes it."""
        if self.stdin or self.source is None:
            return self.stdin
        return " ".join([*self.source.words, self.source.stdin])


def commands(line: str) -> list[Command]:
    """The simple commands of a line in the order they are written, those of substitutions before their own.

    Redirections, assignments before a command and keywords are left out. Raises Unreadable.
    """
    if len(line) > LONGEST:
        raise Unreadable("too long")
    return _Reader(line.replace("\r\n", "\n")).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.found: list[Command] = []
        self.awaited: list[tuple[str, bool, Command]] = []  # here-documents: end, tabs stripped, whose

    def read(self) -> list[Command]:
        self._list("")
        return self.found

    def _list(self, closer: str) -> None:
        """Commands up to `closer` (")", "`", or the end of the text)."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("too deep")
        command = Command()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == closer:
                self.at += 1
                self._end(command)
                self.depth -= 1
                return
            if char == "(":
                command.words.clear()  # the name of a function or of an array
                self.at += 1
                self._list(")")
            elif char in _ENDS:
                piped = self._operator(char)
                if char == ")":  # the end of a pattern of `case`
                    command.words.clear()
                self._end(command)
                command = Command(source=command if piped else None)
            elif char in " \t":
                self.at += 1
            elif char == "#":
                self.at = self._find("\n", default=len(self.text))
            elif char in "<>":
                self._redirection(command)
            else:
                self._into(command)
        if closer:
            raise Unreadable("not closed")
        self._end(command)
        self.depth -= 1

    def _operator(self, char: str) -> bool:
        """Step over what ends a command; is it a pipe?"""
        two = self.text[self.at : self.at + 2]
        self.at += 2 if two in ("&&", "||", ";;", "|&") else 1
        if char == "\n":
            self._documents()
        return char == "|" and two != "||"

    def _end(self, command: Command) -> None:
        words = command.words
        while words and words[0] in _OPENING:
            words.pop(0)
        if words and words[0] in _SKIPPED:
            words.clear()
        while words and _assigns(words[0]):
            words.pop(0)
        if words:
            self.found.append(command)

    def _into(self, command: Command) -> None:
        word = self._word()
        following = self.text[self.at : self.at + 1]
        if not (word.isdigit() and following in ("<", ">") and following):  # a file descriptor
            command.words.append(word)

    def _word(self) -> str:
        """A word with its quotes taken off; `$(...)` stands for a substitution."""
        parts: list[str] = []
        while self.at < len(self.text) and self.text[self.at] not in " \t<>" and self.text[self.at] not in _ENDS:
            char = self.text[self.at]
            if char == "\\":
                if self.text[self.at + 1 : self.at + 2] != "\n":
                    parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "'":
                end = self._find("'", self.at + 1)
                parts.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                self.at += 1
                self._quoted(parts)
            elif char in "$`":
                if self._closes_backquote():
                    break
                self._dollar(parts)
            else:
                parts.append(char)
                self.at += 1
        return "".join(parts)

    def _closes_backquote(self) -> bool:
        return self.text[self.at] == "`" and self._in_backquotes

    _in_backquotes = False

    def _quoted(self, parts: list[str]) -> None:
        """Inside double quotes, up to the closing one."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char in "$`":
                self._dollar(parts)
            else:
                parts.append(char)
                self.at += 1
        raise Unreadable("a quote is not closed")

    def _dollar(self, parts: list[str]) -> None:
        two = self.text[self.at : self.at + 2]
        if two == "$(":
            self.at += 2
            self._list(")")
            parts.append("$(...)")
        elif two == "${":
            end = self._find("}", self.at)
            parts.append(self.text[self.at : end + 1])
            self.at = end + 1
        elif two == "$'":
            self.at += 2
            self._ansi(parts)
        elif two[0] == "`":
            self._backquoted(parts)
        else:
            parts.append("$")
            self.at += 1

    def _ansi(self, parts: list[str]) -> None:
        while self.text[self.at : self.at + 1] != "'":
            if self.at >= len(self.text):
                raise Unreadable("a quote is not closed")
            step = 2 if self.text[self.at] == "\\" else 1
            parts.append(self.text[self.at : self.at + step])
            self.at += step
        self.at += 1

    def _backquoted(self, parts: list[str]) -> None:
        self.at += 1
        before, self._in_backquotes = self._in_backquotes, True
        self._list("`")
        self._in_backquotes = before
        parts.append("$(...)")

    def _redirection(self, command: Command) -> None:
        rest = self.text[self.at : self.at + 3]
        if rest == "<<<":
            self.at += 3
            self._blanks()
            command.stdin = self._word()
        elif rest[:2] == "<<":
            self._here_document(command)
        elif rest[:2] in ("<(", ">("):
            self.at += 2
            self._list(")")
            command.words.append("$(...)")
        else:
            self.at += 1
            while self.text[self.at : self.at + 1] in ("<", ">", "&", "|") and self.at < len(self.text):
                self.at += 1
            self._blanks()
            target = self._word()
            if rest[0] == "<":
                command.stdin = f"< {target}"

    def _here_document(self, command: Command) -> None:
        self.at += 2
        tabs = self.text[self.at : self.at + 1] == "-"
        self.at += tabs
        self._blanks()
        self.awaited.append((self._word(), tabs, command))

    def _documents(self) -> None:
        """The bodies of the here-documents that the line just ended has opened."""
        for end, tabs, command in self.awaited:
            lines: list[str] = []
            while self.at < len(self.text):
                stop = self._find("\n", default=len(self.text))
                line = self.text[self.at : stop]
                self.at = stop + 1
                if (line.lstrip("\t") if tabs else line).rstrip() == end:
                    break
                lines.append(line)
            command.stdin = "\n".join(lines)
        self.awaited = []

    def _blanks(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1

    def _find(self, what: str, start: int | None = None, *, default: int | None = None) -> int:
        found = self.text.find(what, self.at if start is None else start)
        if found >= 0:
            return found
        if default is None:
            raise Unreadable("not closed")
        return default


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.rstrip("+").isidentifier()
