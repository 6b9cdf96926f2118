"""Tool results: exit code, failure, the lines that carry the error, test counts.

The rules are tables; each line is looked at once, and only its first `LINE_LOOK` characters, so that a megabyte
without a line break costs no more than one line. Of a very long result only its start and its end are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from offturn_engine.caseless import lowered, places
from offturn_engine.messages import ToolCallPart, ToolResultPart
from offturn_engine.tools import Family, family_of

LINE_LOOK = 1_000
LINE_KEPT = 200
LOOKED = 100_000  # characters looked at from the start of a result, and as many from its end

DETAIL: Mapping[str, str] = {
    "error with a colon": r"(?i:\b(?:error|fatal|exception|failure)\b ?(?:\[\w{1,12}\]|TS\d{1,6}|\w{1,8})?:)",
    "exception": r"^(?:E {1,8})?(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt)\b",
    "assertion of pytest": r"^E {2,8}\S",
    "test that failed": r"^(?:FAILED|ERROR|FAIL:?|not ok|--- FAIL:)\s",
    "operating system": r"(?i:no such file or directory|permission denied|command not found|is not recognized as"
    r"|not a directory|is a directory|connection refused|operation not permitted|disk quota exceeded|timed out"
    r"|out of memory|cannot (?:access|stat|open|find)|could not (?:find|open|read|resolve)|file not found"
    r"|module not found|unknown (?:option|command))",
    "crash": r"(?i:segmentation fault|core dumped|command aborted|^killed$|^panic:|^thread '[^']{0,80}' panicked)",
    "npm": r"^npm (?:ERR!|error)(?:\s|$)",
    "make": r"\*\*\* .{0,160}\bError \d",
    "marked line": r"^[✗✖❌]\s",
    "tool": r"^(?:<tool_use_error>|\{\"error\"|Error\b|ERROR\b|Invalid\b)",
    "other languages": r"错误|錯誤|失败|失敗|エラー|^Errore?s?:|^Fehler:|^Erreur",
}
"""A line that says what went wrong."""

HEADER: Mapping[str, str] = {
    "python": r"^Traceback \(most recent call last\):",
    "counts": r"[1-9](?<!\w.)\d{0,6} (?:failed|failing|failures?|errors?)\b",
    "pytest": r"^=+ (?:FAILURES|ERRORS) =+",
    "go": r"^FAIL$",
    "cargo": r"^test result: FAILED",
    "unittest": r"^FAILED \(",
}
"""A line that says only that something went wrong."""

CERTAIN = ("test that failed", "crash", "npm", "make")
"""Details that mean failure even where a pipe hides the exit code of what failed."""

EXIT_LINE = (
    r"\W{0,4}(?:(?:the )?(?:command|process|script|program|shell|task)\b.{0,80}?)?"
    r"(?:exit(?:ed)?(?: with)?(?: exit)?[ _-](?:code|status)|return ?code|exitcode)\W{0,4}?(-?\d{1,9})\W{0,4}(?:</returncode>)?\W{0,2}$"
)
EXIT_FIELD = r"\"(?:exit_?code|return_?code|exit_?status)\" {0,2}: {0,2}(-?\d{1,9})\b"
EXIT_HEAD, EXIT_TAIL = 600, 1_500
EXIT, CARRIED = "exit code", "lines"  # among what is kept with a result; the rest is by the family of the call

COUNTS_LOOKED = 2_000  # characters of a result, from its end
COUNTS = (
    r"(?<!\w.)(?:(?<![fF])\d{0,6} (?i:(?:failed|passed|passing|failing|errors?|skipped|xfailed|ignored|pending|total)\b"
    r"(?:[,;] {0,2}\d{1,7} [a-z]{2,12}(?: out)?\b){0,6})|(?<=[fF])(?i:ailures=\d{1,6}(?:, errors=\d{1,6})?))"
)
"""What follows the first sign of a number or of `failures=` that starts a word."""

_DETAIL = re.compile("|".join(f"(?:{p})" for p in DETAIL.values()))
_BEGINNINGS = (
    *("error", "fatal", "exception", "failure", "no such", "permission", "command", "is not", "not a", "is a", "disk"),
    *("connection", "operation", "timed", "out of", "cannot", "could", "file not", "module", "unknown", "segmentation"),
    *("core dumped", "***", "错误", "錯誤", "失败", "失敗", "エラー"),
)
"""How a match of `_DETAIL` begins that does not stand at the start of its line."""
_CERTAIN = re.compile("|".join(f"(?:{DETAIL[name]})" for name in CERTAIN))
_CERTAIN_WORDS = ("fault", "dumped", "aborted", "panicked", "***")
"""Of `_CERTAIN`, what need not stand at the start of its line."""
_HEADER = re.compile("|".join(f"(?:{p})" for name, p in HEADER.items() if name != "counts"))
_COUNTED = re.compile(HEADER["counts"])
_COUNTS, _PLAIN_COUNTS = re.compile(rf"[\dfF]{COUNTS}"), re.compile(f"[0-9fF]{COUNTS}")
"""The second does for a text of ASCII: a pattern that starts with a list of characters is tried at these alone."""
_EXIT_LINE, _EXIT_FIELD = re.compile(EXIT_LINE, re.IGNORECASE), re.compile(EXIT_FIELD, re.IGNORECASE)


def lines_of(text: str) -> list[str]:
    """The lines that are looked at; `…` stands for the middle of a very long text."""
    return (text if len(text) <= 2 * LOOKED else f"{text[:LOOKED]}\n…\n{text[-LOOKED:]}").split("\n")


def exit_code(text: str) -> int | None:
    """The exit code a host wrote into a result: the last one near its end, else the first near its start."""
    found = _exits(text[-EXIT_TAIL:])
    if not found and len(text) > EXIT_HEAD:  # else the end is all of it
        return next(iter(_exits(text[:EXIT_HEAD])), None)
    return found[-1] if found else None


def exit_code_of(result: ToolResultPart) -> int | None:
    """The exit code of a result, looked for once."""
    if EXIT not in result.kept:
        result.kept[EXIT] = exit_code(result.text)
    code: int | None = result.kept[EXIT]
    return code


def _exits(text: str) -> list[int]:
    """The exit codes of its lines; only one that has `exit` or `return` tells one."""
    lower = lowered(text)
    if not _tells_exit(lower):
        return []
    lines = zip(text.split("\n"), lower.split("\n"), strict=True)
    telling = (line.strip() for line, low in lines if _tells_exit(low))
    found = (_EXIT_LINE.match(line) or _EXIT_FIELD.search(line) for line in telling)
    return [int(match.group(1)) for match in found if match]


def _tells_exit(lower: str) -> bool:
    """Has it a word without which no line tells an exit code?"""
    return "exit" in lower or "return" in lower


def failed(result: ToolResultPart, call: ToolCallPart | None = None) -> bool:
    """Did the call fail? By its flag, its exit code, else by what its text says.

    What a file, a search or a web page holds is not the outcome of reading it: there only the first line counts.
    """
    if result.is_error:
        return True
    kind = family_of(call) if call else "other"
    if kind not in result.kept:
        result.kept[kind] = _failed(result, kind)
    bad: bool = result.kept[kind]
    return bad


def _failed(result: ToolResultPart, kind: Family) -> bool:
    code = exit_code_of(result)
    if code:
        return True
    if kind == "shell":
        lines = [_look(line) for line in _telling(result.text, hidden=code is not None)]
        return any(_certain(line) or (code is None and (_announced(line) or _PLACED.match(line))) for line in lines)
    if result.is_error is False:
        return False
    first = _look(next((line for line in result.text[:LINE_LOOK].split("\n") if line.strip()), ""))
    return _announced(first) or bool(re.match(HEADER["python"], first))


_HIDDEN = ("error", "fail", "fault", "dumped", "abort", "killed", "panic", "traceback", "npm", "not ok")
"""Without one of these words, in whatever case, a line is not `_certain`."""

_WORDS = (
    *_HIDDEN,
    *("exception", "interrupt", "fatal", "invalid", "denied", "refused", "permitted", "exceeded", "directory", "found"),
    *("recognized", "timed", "memory", "cannot", "could", "unknown"),
)
"""Without one of these words a line says of no failure; but see `_CODE`."""
_CODE = re.compile(r"E(?<!\wE)[A-Z]{3,12}: ")


def _telling(text: str, *, hidden: bool) -> list[str]:
    """The lines that may say how a command went: those with one of the words without which none does.

    hidden: only what may mean failure beside an exit code of 0.
    """
    looked = text if len(text) <= 2 * LOOKED else "\n".join(lines_of(text))
    lower = lowered(looked)
    codes = () if hidden else _CODE.finditer(looked)
    begins = {looked.rfind("\n", 0, match.start()) + 1 for match in codes}
    for word in _HIDDEN if hidden else _WORDS:
        place = lower.find(word)
        while place >= 0:
            begins.add(lower.rfind("\n", 0, place) + 1)
            end = lower.find("\n", place)
            place = lower.find(word, end) if end >= 0 else -1
    ends = ((begin, looked.find("\n", begin)) for begin in sorted(begins))
    return [looked[begin:end] if end >= 0 else looked[begin:] for begin, end in ends]


_PLACED = re.compile(r"(?i)[\w./\\-]{1,200}(?::\d{1,7}|\(\d{1,7},\d{1,7}\)){1,2}: ?(?:fatal )?error\b")
"""An error with its place in a file, as compilers print it."""

_ANNOUNCED = re.compile(
    r"(?:[\w./-]{1,40}: ){0,3}(?:(?i:fatal|error|exception)\b ?(?:\[\w{1,12}\]|TS\d{1,6})?:"
    rf"|E[A-Z]{{3,12}}: |{DETAIL['exception']}: |{DETAIL['tool']})"
)
_REFUSED = re.compile(rf"(?:[\w./-]{{1,40}}: ){{0,3}}.{{0,160}}(?:{DETAIL['operating system']})\W{{0,3}}$")
_REFUSED_LONGEST = 400  # characters: 3 names of 42, 160, and the longest of the words
_REFUSING = (
    *("no such", "denied", "not found", "recognized", "directory", "refused", "permitted", "exceeded", "timed out"),
    *("of memory", "cannot", "could not", "unknown"),
)


def _announced(line: str) -> bool:
    """Does the line open by saying that this very call failed?"""
    if _ANNOUNCED.match(line):
        return True
    if len(line) > _REFUSED_LONGEST:
        return False
    lower = lowered(line)
    return any(word in lower for word in _REFUSING) and _REFUSED.match(line) is not None


def carrying(lines: Sequence[str], most: int) -> list[int]:
    """Indexes of the first lines that carry the error: those that say what went wrong, else those that say that it did."""
    details = (i for i, line in enumerate(lines) if _detail(_look(line)))
    headers = (i for i, line in enumerate(lines) if _heads(_look(line)))
    return [*islice(details, most)] or [*islice(headers, most)]


def _detail(line: str) -> re.Match[str] | None:
    """What `_DETAIL` finds first. It is tried only where it may begin: at every place it would take most of the time."""
    lower = lowered(line)
    starts = {0, *(at for word in _BEGINNINGS if word in lower for at in places(lower, word))}
    return next((match for at in sorted(starts) if (match := _DETAIL.match(line, at))), None)


def _heads(line: str) -> bool:
    """Does the line say only that something went wrong?"""
    counted = " fail" in line or " error" in line
    return _HEADER.match(line) is not None or (counted and _COUNTED.search(line) is not None)


def _certain(line: str) -> bool:
    """Does the line mean failure, even where a pipe hides the exit code of what failed?"""
    if _heads(line) or _CERTAIN.match(line):
        return True
    lower = lowered(line)
    return any(word in lower for word in _CERTAIN_WORDS) and _CERTAIN.search(line) is not None


def carried(result: ToolResultPart, most: int) -> list[int]:
    """What `carrying` tells of the lines of a result, looked for once."""
    known, found = result.kept.get(CARRIED, (0, []))
    if known < most:
        found = carrying(lines_of(result.text), most)
        result.kept[CARRIED] = most, found
    return list(found[:most])


def first_error_line(result: ToolResultPart) -> str | None:
    """The first line that says what went wrong, at most `LINE_KEPT` characters, verbatim; None where none does."""
    found = carried(result, 1)
    return kept(lines_of(result.text)[found[0]]) if found else None


def kept(line: str) -> str:
    """The part of a line that stays: all of it, or `LINE_KEPT` characters around what carries the error."""
    line = line.strip()
    if len(line) <= LINE_KEPT:
        return line
    match = _detail(line[:LINE_LOOK])
    start = max(0, match.start() - 40) if match and match.end() > LINE_KEPT else 0
    return line[start : start + LINE_KEPT].strip()


def _look(line: str) -> str:
    return line.strip()[:LINE_LOOK]


def run_counts(text: str) -> str:
    """The last summary of a test run, such as `3 failed, 12 passed`; "" where there is none."""
    looked, found = text[-COUNTS_LOOKED:], ""
    for match in (_PLAIN_COUNTS if looked.isascii() else _COUNTS).finditer(looked):
        found = match.group(0)
    return found
