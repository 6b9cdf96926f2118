"""docs/policies.md is what the presets say, every parameter is explained, every policy can be recommended."""

from __future__ import annotations

from itertools import product

from offturn_config.describe import LIMIT_OF, parameters, paths
from offturn_config.presets import load, names
from offturn_worker.recommend import ADVICE, QUESTIONS, recommend
from tests.policies.page import PAGE, page


def test_the_page_is_made_from_the_presets() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_parameter_has_a_meaning_and_resolved_ones_a_size() -> None:
    found = dict(paths())
    assert [path for path, meaning in found.items() if len(meaning.split()) < 3] == []
    assert LIMIT_OF.keys() <= found.keys()
    rows = {row.path: row for row in parameters(load("hermes"), load("hermes").limits(200_000))}
    assert rows["boundary.tail"].tokens == 20_000
    assert rows["trigger.enabled"].tokens is None


def test_every_policy_can_be_recommended_and_every_answer_has_one() -> None:
    advised = {
        recommend(dict(zip(QUESTIONS, answers, strict=True))).policy
        for answers in product(*(possible for _, possible in QUESTIONS.values()))
    }
    assert advised == set(names())
    assert sorted(a.policy for a in ADVICE) == names()
