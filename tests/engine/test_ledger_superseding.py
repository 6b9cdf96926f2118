"""Which statements replace an earlier one: a ban on another thing is another ban."""

from __future__ import annotations

import pytest

from offturn_engine.ledger import ledger
from offturn_engine.ledger.superseding import superseded
from tests.engine.talk import human, log, says


def gone(old: str, new: str) -> set[str]:
    items = ledger(log(human(old), says("ok"), human(new)))
    keys = {key for _, key in superseded(items).gone}
    return {item.text for item in items if item.key in keys}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Never touch src/old_3.py.", "Never touch src/old_4.py."),
        ("Do not deploy to `staging-a`.", "Do not deploy to `staging-b`."),
        ("Nunca borres data/uno.csv.", "Nunca borres data/dos.csv."),
        ("不要修改 config/a.toml。", "不要修改 config/b.toml。"),
    ],
)
def test_a_ban_on_another_thing_lets_the_first_stand(old: str, new: str) -> None:
    assert gone(old, new) == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Never send more than 3 requests per second.", "Never send more than 5 requests per second."),
        ("Never touch src/old_3.py.", "From now on never touch src/old_4.py instead."),
        ("The deadline is 2027-03-01.", "The deadline is now 2027-04-01."),
    ],
)
def test_another_measure_or_a_word_for_it_replaces(old: str, new: str) -> None:
    assert gone(old, new) == {old}
