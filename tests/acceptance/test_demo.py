"""`offturn demo` as a process, recounted by `check_demo.py`; and that checker, which has to notice every damage."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from offturn import CompactionClient
from offturn_worker.demo import play
from offturn_worker.demo.processes import Processes
from offturn_worker.demo.recorded import recording
from tests.acceptance.command import environment

CHECKER = Path(__file__).with_name("check_demo.py")
DEMO_SECONDS = 600
pytestmark = pytest.mark.timeout(DEMO_SECONDS + 60)

Damage = Callable[[Path], None]


def demo(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "offturn", "demo", "--out", str(folder), *flags]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=DEMO_SECONDS)


def check(*arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECKER), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=DEMO_SECONDS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one run, and what it printed with --json."""
    folder = tmp_path_factory.mktemp("demo") / "plain"
    done = demo(folder, "--json")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_demo_recounts(plain: tuple[Path, str]) -> None:
    checked = check(plain[0])

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert len(checked.stdout.splitlines()) == 7
    assert all(line.startswith("ok ") for line in checked.stdout.splitlines())


def test_it_prints_one_object(plain: tuple[Path, str]) -> None:
    facts = json.loads(plain[1])

    due = {"messages_sent", "lost", "altered", "generations", "tokens_before", "tokens_after"}
    assert due <= set(facts)
    assert facts == json.loads((plain[0] / "account.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("flags", [("--fake-model",), ("--kill",), ("--fake-model", "--kill")], ids=" ".join)
def test_it_recounts_with_a_model_and_with_a_killed_worker(flags: tuple[str, ...], tmp_path: Path) -> None:
    done = demo(tmp_path, *flags)
    checked = check(tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert checked.returncode == 0, done.stdout + checked.stdout + checked.stderr
    facts = json.loads((tmp_path / "account.json").read_text(encoding="utf-8"))
    methods = {one["method"] for one in facts["compactions"]}
    assert ("model" in methods) == ("--fake-model" in flags)
    assert ("SIGKILLed worker" in done.stdout) == ("--kill" in flags)


async def test_a_worker_that_cannot_start_is_not_waited_for() -> None:
    processes = Processes({**environment({}), "OFFTURN_LEASE_MS": "none"})
    with pytest.raises(RuntimeError, match="ended before it was ready"):
        await processes.worker(0.0)
    await processes.stop()


async def test_without_a_worker_all_answers_together_take_so_long(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "LONGEST_ANSWERS_SECONDS", 0.05)
    monkeypatch.setattr(play, "LAST_WAIT_SECONDS", 0.05)
    said = list[str]()

    async def after(_: play.Turn) -> None: ...

    session = client.session("demo", format="openai-chat", window=play.WINDOW)
    alone = play.Play(recording(), session, after, said.append, pace=0.001)
    await alone.run()

    assert 0.05 <= alone.slowed < 0.052
    assert alone.outcomes == []
    assert "the last compaction is not done" in said[-1]


# What a checker has to notice. Views are named by what they show, because turns differ from run to run.


def views(folder: Path) -> list[Path]:
    return sorted((folder / "views").iterdir())


@contextmanager
def changing(file: Path) -> Iterator[Any]:
    value = json.loads(file.read_text(encoding="utf-8"))
    yield value
    file.write_text(json.dumps(value), encoding="utf-8")


def latest(folder: Path, wanted: Callable[[dict[str, Any]], bool]) -> Path:
    """The last view with such a message: which messages the last compaction covers, and edits, differs from run to run."""
    read = ((file, json.loads(file.read_text(encoding="utf-8"))) for file in reversed(views(folder)))
    return next(file for file, view in read if any(wanted(message) for message in view["messages"]))


def first(messages: list[dict[str, Any]], role: str, after: int = 0) -> int:
    return next(i for i, message in enumerate(messages) if i >= after and message["role"] == role)


def drops_a_message(folder: Path) -> None:
    with changing(views(folder)[9]) as view:
        del view["messages"][first(view["messages"], "assistant", after=8)]


def drops_the_last_message(folder: Path) -> None:
    with changing(views(folder)[-1]) as view:
        del view["messages"][-1]


def drops_a_result(folder: Path) -> None:
    with changing(views(folder)[9]) as view:
        del view["messages"][first(view["messages"], "tool")]


def swaps_two_results(folder: Path) -> None:
    with changing(views(folder)[9]) as view:
        messages = view["messages"]
        at = next(i for i in range(len(messages)) if [m["role"] for m in messages[i : i + 2]] == ["tool", "tool"])
        messages[at], messages[at + 1] = messages[at + 1], messages[at]


def invents_a_message(folder: Path) -> None:
    with changing(views(folder)[-1]) as view:
        view["messages"].insert(1, {"role": "user", "content": "Please continue."})


def changes_a_human_message(folder: Path) -> None:
    with changing(views(folder)[2]) as view:
        message = view["messages"][first(view["messages"], "user")]
        message["content"] = message["content"][:-1] + "?"


def changes_an_assistant_message(folder: Path) -> None:
    def says(message: dict[str, Any]) -> bool:
        return bool(message["role"] == "assistant" and message["content"])

    with changing(latest(folder, says)) as view:
        message = next(m for m in view["messages"] if says(m))
        message["content"] = "X" + message["content"][1:]


def changes_a_quotation(folder: Path) -> None:
    constraint = (folder / "constraints.txt").read_text(encoding="utf-8").splitlines()[0]
    with changing(views(folder)[-1]) as view:
        summary = view["messages"][0]
        assert constraint in summary["content"]
        summary["content"] = summary["content"].replace(constraint, constraint.upper())


def cuts_a_range(folder: Path) -> None:
    with changing(views(folder)[-1]) as view:
        summary = view["messages"][0]
        assert summary["content"].startswith("[Summary of messages 0-")
        summary["content"] = summary["content"].replace("messages 0-", "messages 1-", 1)


def moves_the_summary_to_the_end(folder: Path) -> None:
    with changing(views(folder)[-1]) as view:
        view["messages"].append(view["messages"].pop(0))


def changes_a_handle(folder: Path) -> None:
    change_a_stub(folder, lambda line: line.replace("recall m", "recall m9"))


def changes_a_size(folder: Path) -> None:
    change_a_stub(folder, lambda line: line.replace(" character", "9 character"))


def adds_to_a_stub(folder: Path) -> None:
    change_a_stub(folder, lambda line: line + "\n1 passed, says nobody")


def change_a_stub(folder: Path, change: Callable[[str], str]) -> None:
    def stubbed(message: dict[str, Any]) -> bool:
        return str(message["content"]).startswith("[cleared: ")

    with changing(latest(folder, stubbed)) as view:
        stub = next(m for m in view["messages"] if stubbed(m))
        stub["content"] = change(stub["content"])


def breaks_arguments(folder: Path) -> None:
    with changing(latest(folder, lambda message: bool(message.get("tool_calls")))) as view:
        call = next(m for m in view["messages"] if m.get("tool_calls"))["tool_calls"][0]
        call["function"]["arguments"] = call["function"]["arguments"][:-1]


def shows_everything_at_the_end(folder: Path) -> None:
    sent = [json.loads(line) for line in (folder / "sent.jsonl").read_text(encoding="utf-8").splitlines()]
    with changing(views(folder)[-1]) as view:
        view["messages"] = sent


def edits_within_a_generation(folder: Path) -> None:
    files = views(folder)
    read = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    adopted = next(i for i, view in enumerate(read) if view["generation"])
    pairs = zip(read[adopted - 1]["messages"], read[adopted]["messages"], strict=False)
    place = next(i for i, (raw, edited) in enumerate(pairs) if raw != edited)
    with changing(files[adopted - 1]) as view:
        view["messages"][place] = read[adopted]["messages"][place]


def changes_the_system_prompt(folder: Path) -> None:
    with changing(views(folder)[-1]) as view:
        view["system"] += " Be brief."


def names_an_unknown_generation(folder: Path) -> None:
    with changing(views(folder)[-1]) as view:
        view["generation"] = 99


def deletes_a_view(folder: Path) -> None:
    views(folder)[4].unlink()


def cuts_a_file(folder: Path) -> None:
    file = views(folder)[4]
    file.write_bytes(file.read_bytes()[:-20])


def drops_a_sent_result(folder: Path) -> None:
    lines = (folder / "sent.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    at = first([json.loads(line) for line in lines], "tool")
    (folder / "sent.jsonl").write_text("".join(lines[:at] + lines[at + 1 :]), encoding="utf-8")


def drops_a_sent_answer(folder: Path) -> None:
    lines = (folder / "sent.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "sent.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")


def adds_a_constraint(folder: Path) -> None:
    with (folder / "constraints.txt").open("a", encoding="utf-8") as file:
        file.write("Never answer on Sundays.\n")


def drops_all_constraints(folder: Path) -> None:
    (folder / "constraints.txt").write_text("", encoding="utf-8")


def lies(key: str, value: Any) -> Damage:
    def damage(folder: Path) -> None:
        with changing(folder / "account.json") as account:
            account[key] = value

    damage.__name__ = f"lies_about_{key}"
    return damage


def hides_the_threshold(folder: Path) -> None:
    with changing(folder / "account.json") as account:
        account["compactions"] = [{**one, "reason": "phase"} for one in account["compactions"]]


def denies_the_update(folder: Path) -> None:
    with changing(folder / "account.json") as account:
        account["compactions"] = [{**one, "update": False} for one in account["compactions"]]


def covers_less_than_it_says(folder: Path) -> None:
    with changing(folder / "account.json") as account:
        account["compactions"][-1]["covered"][-1][1] += 1


DAMAGES: list[tuple[Damage, str]] = [
    (drops_a_message, "place 8: due is"),
    (drops_the_last_message, "its end is there"),
    (drops_a_result, "have no result"),
    (swaps_two_results, "another message is there"),
    (invents_a_message, "place 1: due is"),
    (changes_a_human_message, "view 3: not there word for word, from message 0"),
    (changes_an_assistant_message, "another message is there"),
    (changes_a_quotation, "not there word for word"),
    (cuts_a_range, "names other messages than the account"),
    (moves_the_summary_to_the_end, "ends with the summary"),
    (changes_a_handle, "another message is there"),
    (changes_a_size, "another message is there"),
    (adds_to_a_stub, "another message is there"),
    (breaks_arguments, "is not whole"),
    (shows_everything_at_the_end, "less than 60% saved"),
    (edits_within_a_generation, "does not begin with view"),
    (changes_the_system_prompt, "another system prompt"),
    (names_an_unknown_generation, "for generation 99"),
    (deletes_a_view, "views/ holds"),
    (cuts_a_file, "is no JSON object"),
    (drops_a_sent_result, "due is"),
    (drops_a_sent_answer, "views/ holds"),
    (adds_a_constraint, "no human message of sent.jsonl states the constraint 'Never answer on Sundays.'"),
    (drops_all_constraints, "holds no constraint"),
    (lies("messages_sent", 1), "messages_sent is 1"),
    (lies("lost", 1), "lost is 1, recounted 0"),
    (lies("altered", None), "altered is None, recounted 0"),
    (lies("generations", 2), "generations is 2"),
    (lies("tokens_after", 9), "tokens_after is 9, recounted about"),
    (lies("compactions", []), "due are three generations or more"),
    (hides_the_threshold, "no compaction has the reason threshold"),
    (denies_the_update, "said []"),
    (covers_less_than_it_says, "names other messages than the account"),
]


@pytest.mark.parametrize(("damage", "told"), DAMAGES, ids=[damage.__name__ for damage, _ in DAMAGES])
def test_the_checker_notices(damage: Damage, told: str, plain: tuple[Path, str], tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(plain[0], folder)
    damage(folder)

    checked = check(folder)

    assert checked.returncode == 1, checked.stdout
    assert told in checked.stdout
    assert "Traceback" not in checked.stderr


def test_the_checker_needs_a_folder(tmp_path: Path) -> None:
    assert check().returncode == 2
    missing = check(tmp_path / "missing")
    assert missing.returncode == 1
    assert "sent.jsonl cannot be read" in missing.stdout


def test_the_checker_imports_nothing_of_the_project() -> None:
    lines = CHECKER.read_text(encoding="utf-8").splitlines()
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imported - set(sys.stdlib_module_names) == set()
