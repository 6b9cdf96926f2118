"""What is particular to text-observation: which texts hold an action, and which user messages are a tool's."""

from __future__ import annotations

from typing import Any

import pytest

from offturn_config.presets import load
from offturn_engine import formats
from offturn_engine.errors import InvalidMessage
from offturn_engine.ledger import ledger
from offturn_engine.messages import Edit, Message, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.prune import prune
from offturn_engine.side_effects import changes_outside

FORMAT = formats.get("text-observation")


def human(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def parsed(*raws: dict[str, Any]) -> list[Message]:
    return formats.parse_all(FORMAT, raws)


EDITOR = "<function=edit>\n<parameter=path>a.py</parameter>\n<parameter=new>\nx = 1\n\n</parameter>\n</function>"


@pytest.mark.parametrize(
    ("text", "name", "arguments", "head"),
    [
        ("I look.\n\n```bash\nls -la\n```", "bash", {"command": "ls -la"}, "I look."),
        ("```\nls\ncat a\n```\n", "bash", {"command": "ls\ncat a"}, ""),
        ("THOUGHT: so\n\n```mswea_bash_command\nls\n```", "bash", {"command": "ls"}, "THOUGHT: so"),
        ("```python\nx\n```\nthen\n```sh\nls\n```", "bash", {"command": "ls"}, "```python\nx\n```\nthen"),
        (f"I edit.\n{EDITOR}", "edit", {"path": "a.py", "new": "x = 1\n"}, "I edit."),
        ("<function=submit>\n</function>", "submit", {}, ""),
    ],
)
def test_a_text_that_ends_with_an_action_is_a_call(text: str, name: str, arguments: dict[str, str], head: str) -> None:
    message = FORMAT.parse(says(text))
    [(place, call)] = message.calls
    assert (call.id, call.name, call.arguments) == ("action", name, arguments)
    assert message.text == head
    assert place == (1 if head else 0)
    assert FORMAT.edit(message, ()) is message.raw
    same = FORMAT.edit(message, [Edit(seq=0, part=place, rule="arguments", arguments=call.arguments)])
    assert FORMAT.parse(same).parts == message.parts


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "Like this:\n```python\nprint()\n```",
        "```bash\nls\n```\nRun that.",
        "```\n\n```",
        "```",
        "inline ```ls```",
        "see <function=bash> in the text </function>",
        "</function>",
    ],
)
def test_an_example_is_no_action(text: str) -> None:
    assert FORMAT.parse(says(text)).parts == (TextPart(text),)


def test_what_follows_an_action_is_its_observation_and_else_a_human_speaks() -> None:
    path = parsed(
        {"role": "system", "content": "You are an agent."},
        human("fix it"),
        says("I look.\n```\nls\n```"),
        human("a.py"),
        human("and hurry"),
        says("What is the port?"),
        human("8081"),
        says("<function=bash>\n<parameter=command>rm a.py</parameter>\n</function>"),
        human(""),
    )
    origins = ["system", "human", "assistant", "tool", "human", "assistant", "human", "assistant", "tool"]
    assert [message.origin for message in path] == origins
    assert path[3].parts == (ToolResultPart("action", "a.py"),)
    assert path[3].raw == human("a.py")


def test_the_host_has_the_last_word() -> None:
    action, said = parsed(human("go"), says("```\nls\n```"))[1], human("stop")
    assert FORMAT.after(FORMAT.parse(said), action).origin == "tool"
    assert FORMAT.after(FORMAT.parse(said, origin="host"), action).origin == "host"
    assert FORMAT.parse(said, origin="tool").origin == "tool"
    assert FORMAT.parse(said, origin="human").origin == "human"
    listed = formats.parse_all(
        FORMAT, [human("go"), says("```\nls\n```"), said, human("a.py")], {2: "human", 3: "tool"}
    )
    assert [message.origin for message in listed] == ["human", "assistant", "human", "tool"]


def test_what_the_log_says_is_what_was_recorded() -> None:
    """An entry keeps raw message and origin; that is enough to read it again without its neighbours."""
    for message in parsed(human("go"), says("```\nls\n```"), human("a.py"), says("ok"), human("thanks")):
        again = FORMAT.parse(message.raw, origin=message.origin)
        assert (again.parts, again.origin, again.role) == (message.parts, message.origin, message.role)


def test_observations_are_pruned_and_commands_are_known() -> None:
    listing = "line of a long listing\n" * 400
    path = parsed(
        human("go"),
        says("I run.\n```\npytest -q\n```"),
        human("FAILED tests/test_a.py::test_b - AssertionError\n1 failed\nexit code: 1"),
        says("I look.\n```\ncat a.py\n```"),
        human(listing),
        says("<function=bash>\n<parameter=command>git push</parameter>\n</function>"),
        human("pushed " * 400),
    )
    known = {item.key: item.text for item in ledger(path) if item.kind == "command"}
    assert known["pytest -q"].startswith("exit 1")
    assert "git push" in known
    policy = load().override({"prune.protected_results": 0, "prune.side_effects": True}).prune
    made = prune(path, policy=policy, protected=(), edited={})
    assert [edit.seq for edit in made.edits if edit.rule == "stub"] == [4]
    assert changes_outside(path[5].calls[0][1])
    [edit] = [edit for edit in made.edits if edit.seq == 4]
    assert FORMAT.edit(path[4], [edit]) == human(edit.text or "")


def test_content_in_parts_is_read_and_edited_alike() -> None:
    marked = {"type": "text", "text": "I look.\n```\nls\n```", "cache_control": {"type": "ephemeral"}}
    message = FORMAT.parse({"role": "assistant", "content": [marked]})
    assert isinstance(message.parts[1], ToolCallPart)
    edited = FORMAT.edit(message, [Edit(seq=0, part=0, rule="stub", text="cut")])
    assert edited["content"] == [{**marked, "text": "cut\n```\nls\n```"}]
    seen = FORMAT.parse({"role": "user", "content": [{"type": "text", "text": "long"}]}, origin="tool")
    assert FORMAT.edit(seen, [Edit(seq=0, part=0, rule="stub", text="cut")])["content"] == [
        {"type": "text", "text": "cut"}
    ]


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
    ],
)
def test_messages_of_an_api_with_tools_are_refused_with_the_remedy(raw: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage, match="openai-chat"):
        FORMAT.parse(raw)


def test_an_action_that_its_notation_cannot_hold_is_refused() -> None:
    fenced, tagged = FORMAT.parse(says("```\nls\n```")), FORMAT.parse(says("<function=f>\n</function>"))
    for message, arguments in ((fenced, {"path": "a"}), (fenced, ["ls"]), (tagged, {"n": 1})):
        with pytest.raises(ValueError, match="argument"):
            FORMAT.edit(message, [Edit(seq=0, part=0, rule="arguments", arguments=arguments)])
