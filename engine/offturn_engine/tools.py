"""Tool calls: what family a tool belongs to and what a call was aimed at, by the names real hosts use.

The names are those of Claude Code, Codex, OpenCode, Hermes, pi, OpenHands, SWE-agent, Gemini CLI, Qwen Code, Cline,
Copilot and Cursor. Names compare without case, `_`, `-`, and without a server or namespace before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from offturn_engine.messages import Json, ToolCallPart

Family = Literal["shell", "read", "write", "search", "web", "other"]

NAMES: Mapping[Family, str] = {
    "shell": "bash shell sh zsh cmd terminal run execute_bash execute_command run_command run_commands run_shell_command"
    " shell_command local_shell container.exec exec exec_command unified_exec run_terminal_cmd run_in_terminal"
    " powershell bash_exec bash_execution execute_ipython_cell execute_code python ipython bash_tool execute_shell"
    " run_bash terminal_run run_ipython python_exec code_interpreter",
    "read": "read read_file read_files read_many_files file_read view view_file open open_file cat notebook_read"
    " fs_read view_image get_file_contents scroll_up scroll_down goto read_text_file read_media_file",
    "write": "write write_file file_write write_to_file create create_file edit edit_file file_edit multi_edit"
    " notebook_edit replace replace_in_file replace_string_in_file insert insert_edit_into_file str_replace apply_patch"
    " patch apply_diff editor str_replace_editor str_replace_based_edit_tool file_editor text_editor fs_write"
    " delete_file remove_file move_file rename_file append_file search_replace str_replace_file",
    "search": "grep glob ls list list_dir list_directory list_files find find_file find_files search_file search_dir"
    " search_files search_file_content grep_search grep_files file_search codebase_search semantic_search code_search"
    " search_code rg ripgrep list_code_definition_names tool_search search_codebase",
    "web": "web_search web_fetch fetch fetch_webpage fetch_url url_fetch google_web_search web_extract web_crawl browse"
    " browse_interactive browser_navigate web_browser_go visit_website open_url search_web http_request"
    " fetch_web_content",
}
OPERATIONS: Mapping[str, str] = {
    "write": "written",
    "write_file": "written",
    "file_write": "written",
    "write_to_file": "written",
    "fs_write": "written",
    "create": "created",
    "create_file": "created",
    "delete_file": "deleted",
    "remove_file": "deleted",
    "move_file": "moved",
    "rename_file": "moved",
}
"""What a tool of the write family does to its file; `edited` where it is not named."""

EDITOR_COMMANDS: Mapping[str, str] = {
    "view": "read",
    "create": "created",
    "str_replace": "edited",
    "insert": "edited",
    "undo_edit": "edited",
    "delete": "deleted",
}
"""Editors that take their operation as an argument called `command`."""

LAST_LINE = 10**8  # of a file; a larger number is none

CODE_TOOLS = "execute_ipython_cell execute_code python ipython run_ipython python_exec code_interpreter"
"""Tools of the shell family that take code of a language instead of a command line."""

COMMAND_KEYS = ("command", "cmd", "commands", "script", "code", "input")
PATH_KEYS = [
    "file_path",
    "filePath",
    "path",
    "filename",
    "file_name",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
    "relative_path",
    "paths",
    "files",
]
PATTERN_KEYS = [
    "pattern",
    "query",
    "regex",
    "search_term",
    "search_query",
    "q",
    "glob",
    "glob_pattern",
    "file_name",
    "term",
]
PLACE_KEYS = ["path", "paths", "dir", "directory", "dir_path", "include", "root"]
WEB_KEYS = ["url", "urls", "uri", "query", "search_term", "search_query", "q", "objective"]
CONTENT_KEYS = [
    "content",
    "contents",
    "file_text",
    "new_string",
    "newString",
    "new_str",
    "newText",
    "new_text",
    "text",
    "patch",
    "input",
    "diff",
]

COMMAND_CHARACTERS = 80
COMMAND_KEY = 160
ARGUMENT_CHARACTERS = 40
TARGET_CHARACTERS = 160


def plain_name(name: str) -> str:
    """`mcp__files__Read-File` -> `readfile`."""
    return _plain_name(name[-200:])


@lru_cache(maxsize=1024)  # a host has some dozens of tools, and calls them thousands of times
def _plain_name(name: str) -> str:
    last = re.split(r"__|[./:]", name)[-1]
    return last.replace("_", "").replace("-", "").lower()


_CD = re.compile(r"\s{0,40}cd [^;&|\n]{1,400}(?:&&|;|\n)\s{0,40}")
_QUIET = re.compile(r"\s{0,8}(?:2>&1|\|\s{0,4}(?:tail|head|cat)\b[^|;&]{0,40}|\|\|\s{0,4}true)$")

_FAMILY: Mapping[str, Family] = {plain_name(n): f for f, names in NAMES.items() for n in names.split()}
_CODE_TOOLS = frozenset(plain_name(n) for n in CODE_TOOLS.split())
_OPERATION: Mapping[str, str] = {plain_name(n): op for n, op in OPERATIONS.items()}


def family(name: str) -> Family:
    """The family of a tool by its name; `other` where nobody we know has such a tool."""
    return _family(name[-200:])


@lru_cache(maxsize=1024)
def _family(name: str) -> Family:
    return _FAMILY.get(_plain_name(name), "other")


def is_mcp(name: str) -> bool:
    """Is it the tool of an MCP server, by the prefix hosts give those?"""
    return name.lower().startswith(("mcp__", "mcp_", "mcp.", "mcp:", "mcp/"))


def is_code(name: str) -> bool:
    """Does the tool take code instead of a command line?"""
    return plain_name(name) in _CODE_TOOLS


def reproducible(call: ToolCallPart) -> bool:
    """Could its result be had again by calling it again: files, shell, searches, the web (rule K3)?

    What tools nobody knows have returned could not, nor what an MCP server wrote.
    """
    kind = family_of(call)
    return kind in ("read", "search", "web") or (kind in ("shell", "write") and not is_mcp(call.name))


def family_of(call: ToolCallPart) -> Family:
    """The family of one call: an editor asked to `view` reads."""
    found = family(call.name)
    return "read" if found == "write" and operation(call) == "read" else found


def operation(call: ToolCallPart) -> str:
    """What a call of the write family does to its file: created, written, edited, deleted, moved, or read."""
    asked = arguments_of(call).get("command")
    if isinstance(asked, str) and asked in EDITOR_COMMANDS:
        return EDITOR_COMMANDS[asked]
    return _OPERATION.get(plain_name(call.name), "edited")


def arguments_of(call: ToolCallPart) -> Mapping[str, Json]:
    """The call's arguments as a mapping; free text and other JSON values under the key `input`."""
    if isinstance(call.arguments, Mapping):
        for key in call.arguments:
            if not isinstance(key, str):
                return {str(k): v for k, v in call.arguments.items()}
        return call.arguments
    if call.arguments is None:
        return {"input": call.source} if call.source else {}
    return {"input": call.arguments}


def one_line(text: str, limit: int) -> str:
    """Whitespace runs as one blank, cut to `limit` characters."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def command_of(call: ToolCallPart) -> str:
    """The command line of a shell call; `["bash", "-lc", "make"]` is `make`; "" where there is none."""
    arguments = arguments_of(call)
    for key in COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            words = [str(w) for w in value]
            if key == "commands":
                return "\n".join(words)
            wrapped = len(words) == 3 and words[1] in ("-c", "-lc", "-Command", "/c")
            return words[2] if wrapped else " ".join(words)
    return ""


def normalised(command: str, limit: int = COMMAND_KEY) -> str:
    """A command in one line, without a leading `cd x &&` and a trailing `2>&1` or `| tail`, so that reruns have one name."""
    lead = _CD.match(command)
    line = one_line(command[lead.end() :] if lead else command, limit * 4)
    while quiet := _QUIET.search(line, max(0, len(line) - 80)):
        line = line[: quiet.start()]
    return one_line(line, limit)


def paths_of(call: ToolCallPart) -> list[str]:
    """The files a call names in its arguments, in order."""
    arguments = arguments_of(call)
    for key in PATH_KEYS:
        value = arguments.get(key)
        found = [p for v in (value if isinstance(value, list) else [value]) if (p := _path(v))]
        if found:
            return found
    return []


def _path(value: Json) -> str:
    if isinstance(value, Mapping):
        value = next((value[k] for k in PATH_KEYS if isinstance(value.get(k), str)), None)
    return value.strip().removeprefix("./") if isinstance(value, str) and 0 < len(value) <= 1_000 else ""


def target(call: ToolCallPart) -> str:
    """What the call was aimed at, in one line: command, path and range, pattern and place, URL, or two arguments."""
    kind = family_of(call)
    found = ""
    if kind == "shell":
        found = normalised(command_of(call), COMMAND_CHARACTERS)
    elif kind in ("read", "write"):
        found = ", ".join(paths_of(call)[:3]) + _range(call)
    elif kind == "search":
        found = _search(call)
    elif kind == "web":
        found = one_line(_first(call, WEB_KEYS), COMMAND_CHARACTERS)
    return one_line(found or _arguments(call), TARGET_CHARACTERS)


def written_lines(call: ToolCallPart) -> int:
    """Lines of the new text a call of the write family brought; 0 where its arguments hold none."""
    text = _first(call, CONTENT_KEYS)
    return text.count("\n") + 1 if text else 0


def _first(call: ToolCallPart, keys: list[str]) -> str:
    arguments = arguments_of(call)
    for key in keys:
        value = arguments.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str) and value:
            return value
    return ""


def _range(call: ToolCallPart) -> str:
    lines = line_range(call)
    return f":{lines}" if lines else ""


def line_range(call: ToolCallPart) -> str:
    """The lines a call asks for: `10-50`, `10-` where it names no end; "" where it asks for all, or counts from the end."""
    arguments = arguments_of(call)
    view = arguments.get("view_range")
    if isinstance(view, list) and len(view) == 2 and all(isinstance(n, int) for n in view):
        start, end = view
    else:
        start = next((arguments[k] for k in ("offset", "start_line", "startLine", "line") if k in arguments), None)
        count, end = arguments.get("limit"), arguments.get("end_line", arguments.get("endLine"))
        if isinstance(start, int) and isinstance(count, int):
            end = start + count - 1
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start <= LAST_LINE:
        return ""
    return f"{start}-{end}" if isinstance(end, int) and start <= end <= LAST_LINE else f"{start}-"


def _search(call: ToolCallPart) -> str:
    pattern, place = one_line(_first(call, PATTERN_KEYS), COMMAND_CHARACTERS), _first(call, PLACE_KEYS)
    if not pattern:
        return place
    return f'"{pattern}" in {place}' if place else f'"{pattern}"'


def _arguments(call: ToolCallPart) -> str:
    scalars = [(k, v) for k, v in arguments_of(call).items() if isinstance(v, str | int | float)]
    return " ".join(f"{one_line(k, ARGUMENT_CHARACTERS)}={_scalar(v)}" for k, v in scalars[:2])


def _scalar(value: str | float) -> str:
    if isinstance(value, str):
        return one_line(value, ARGUMENT_CHARACTERS)
    # Python refuses to print integers of more than 4,300 digits.
    return "…" if isinstance(value, int) and value.bit_length() > 1_000 else str(value)
