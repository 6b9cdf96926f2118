"""Which calls change the outside world: a table of commands, the tools of hosts, and lines no shell would take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.files import read
from offturn_engine.formats import get
from offturn_engine.messages import Json, ToolCallPart
from offturn_engine.shell import LONGEST, Command, Unreadable, commands
from offturn_engine.side_effects import changes_outside, line_changes
from offturn_engine.tools import command_of, reproducible
from tests.engine.side_effect_samples import CHANGES, HARMLESS
from tests.engine.talk import RECORDED, call


def words(line: str) -> list[list[str]]:
    return [command.words for command in commands(line)]


@pytest.mark.parametrize("line", CHANGES)
def test_a_command_that_changes_the_outside_world_is_seen(line: str) -> None:
    assert line_changes(line)


@pytest.mark.parametrize("line", HARMLESS)
def test_a_command_that_could_be_run_again_is_not_kept(line: str) -> None:
    assert not line_changes(line)


@pytest.mark.parametrize("line", [line for line in HARMLESS if line and "\n" not in line and "#" not in line])
@pytest.mark.parametrize(
    "compound",
    ["{} && git push", "git push; {}", "{} | tee x || git push", "({}) && (git push)", "sudo git push &\n{}"],
)
def test_one_change_in_a_compound_command_is_enough(line: str, compound: str) -> None:
    assert line_changes(compound.format(line))


TOOLS: list[tuple[str, Json, bool, bool]] = [
    # name, arguments, changes the outside world, could be called again
    ("FileRead", {"file_path": "a"}, False, True),
    ("Read", {"file_path": "a"}, False, True),
    ("Bash", {"command": "ls"}, False, True),
    ("Bash", {"command": "git push"}, True, True),
    ("Grep", {"pattern": "rm"}, False, True),
    ("Glob", {"pattern": "*"}, False, True),
    ("WebSearch", {"query": "rm -rf"}, False, True),
    ("WebFetch", {"url": "https://example.com"}, False, True),
    ("FileEdit", {"file_path": "a"}, False, True),
    ("FileWrite", {"file_path": "a", "content": "x"}, False, True),
    ("MultiEdit", {"file_path": "a"}, False, True),
    ("shell", {"command": ["bash", "-lc", "rm x"]}, True, True),  # codex
    ("exec_command", {"cmd": "cargo test"}, False, True),
    ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a\n*** End Patch"}, False, True),
    ("apply_patch", {"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}, True, True),
    ("webfetch", {"url": "https://example.com"}, False, True),  # opencode
    ("terminal", {"command": "make deploy"}, True, True),  # hermes
    ("search_files", {"pattern": "x"}, False, True),
    ("execute_bash", {"command": "pytest"}, False, True),  # openhands
    ("str_replace_editor", {"command": "view", "path": "a"}, False, True),
    ("execute_ipython_cell", {"code": "print(1)"}, False, True),
    ("execute_ipython_cell", {"code": "!git push"}, True, True),
    ("execute_ipython_cell", {"code": "import shutil\nshutil.rmtree('a')"}, True, True),
    ("browse_interactive", {"code": "goto('https://example.com')"}, False, True),
    ("browse_interactive", {"code": "fill('12', 'x')\nclick('13')"}, True, True),
    ("find_file", {"file_name": "a"}, False, True),  # swe-agent
    ("edit", {"path": "a"}, False, True),  # pi
    ("run_commands", {"commands": ["ls", "rm x"]}, True, True),  # cline
    ("search_codebase", {"query": "x"}, False, True),
    ("StrReplaceFile", {"path": "a"}, False, True),  # kimi
    ("delete_file", {"path": "a"}, True, True),
    ("http_request", {"method": "POST", "url": "https://example.com"}, True, True),
    ("http_request", {"method": "GET", "url": "https://example.com"}, False, True),
    ("mcp__files__read_file", {"path": "a"}, False, True),
    ("mcp__tracker__create", {"title": "x"}, True, False),
    ("mcp__db__execute_command", {"command": "ls"}, True, False),
    ("mcp__mail__send", {}, True, False),
    ("github_create_issue", {}, True, False),
    ("book_reservation", {"user_id": "u"}, True, False),
    ("Task", {"prompt": "look"}, True, False),
    ("skill", {"name": "x"}, True, False),
    ("", None, True, False),
]


@pytest.mark.parametrize(("name", "arguments", "changes", "again"), TOOLS)
def test_tools_of_real_hosts_are_judged_call_by_call(name: str, arguments: Json, changes: bool, again: bool) -> None:
    made = call(name, arguments)
    assert changes_outside(made) is changes
    assert reproducible(made) is again


LOOKING = frozenset(
    [
        "cd",
        "ls",
        "cat",
        "grep",
        "rg",
        "find",
        "head",
        "tail",
        "wc",
        "sort",
        "echo",
        "pwd",
        "sed",
        "npx",
        "npm",
        "which",
        "file",
        "printf",
    ]
)


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the folder shared/transcripts is not beside this checkout")
def test_commands_of_a_recorded_session() -> None:
    (conversation,) = read((RECORDED / "pi_before-compaction.jsonl").read_bytes())
    fmt = get(conversation.format)
    made = [part for raw in conversation.messages for _, part in fmt.parse(raw).calls if part.name == "bash"]
    lines = [command_of(part) for part in made]
    assert len(lines) > 150
    for line in lines:
        programs = {command.words[0] for command in commands(line)}
        if programs <= LOOKING:
            assert not line_changes(line)
        if programs & {"rm", "mv", "rmdir"} or " git commit " in f" {line} ":
            assert line_changes(line)
    assert 30 < sum(map(line_changes, lines)) < len(lines) // 2


def test_commands_are_found_wherever_they_stand() -> None:
    assert words("a && b; c | d || (e; f) & g") == [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]
    assert words("if ! A=1 sudo -u x rm 'y z' 2>&1 >/dev/null <in; then :; fi")[0] == ["sudo", "-u", "x", "rm", "y z"]
    assert words('echo "$(rm x)" `ls "a b"` ${x:-$(no)}') == [
        ["rm", "x"],
        ["ls", "a b"],
        ["echo", "$(...)", "$(...)", "${x:-$(no)}"],
    ]


def test_a_pipe_and_a_here_document_say_what_a_command_reads() -> None:
    first, second = commands("cat <<'EOF' | psql db\ndrop table x;\nEOF\n")
    assert (first.words, first.stdin) == (["cat"], "drop table x;")
    assert second.given == "cat drop table x;"
    assert [c.words for c in commands("cat > f <<-END\n\trm x\n\tEND\nls")] == [["cat"], ["ls"]]
    assert commands("tr a b <<< 'c d'") == [Command(["tr", "a", "b"], "c d")]


@pytest.mark.parametrize("line", ["echo 'a", 'echo "a', "echo $(ls", "echo `ls", "$(" * 100, "x" * (LONGEST + 1)])
def test_what_no_shell_would_take_is_unreadable(line: str) -> None:
    with pytest.raises(Unreadable):
        commands(line)


SHELLISH = st.lists(
    st.sampled_from(
        [
            "rm",
            "ls",
            " ",
            "\n",
            "'",
            '"',
            "$(",
            ")",
            "(",
            "`",
            "<<E",
            "E",
            "|",
            "&&",
            ";",
            "\\",
            "{",
            "}",
            "#",
            "xargs",
            "bash",
            "-c",
            "find",
            "-exec",
        ]
    )
).map(" ".join)


@given(st.one_of(st.text(max_size=200), SHELLISH))
def test_any_text_is_judged(line: str) -> None:
    assert line_changes(line) in (True, False)
    assert changes_outside(ToolCallPart("c", "bash", {"command": line}, "")) == line_changes(line)


@pytest.mark.parametrize("size", [50_000])
@pytest.mark.parametrize(
    "piece", ["a ", "a;", "$(a) ", "'", '"$(a)"', "<<E ", "(", "urlopen(", "x" * 9 + "=", "-", "`a` "]
)
def test_long_lines_cost_time_in_proportion(piece: str, size: int) -> None:
    """It ends: a quadratic reader would not within the time limit of the suite."""
    assert line_changes(piece * (size // len(piece))) in (True, False)
