"""Each rule has tests that bear its id, and a mutant; nothing bears an id that is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.policies.mutants import MUTANTS
from tests.policies.rules import RULES

HERE = Path(__file__).parent
SPECIFICATION = Path(__file__).parents[3] / "shared" / "policies.md"
OWN = {"A1", "A2"}  # of no other system
TEST = re.compile(r"^(?:async )?def test_([A-Z]\d+)_\w+\(", re.MULTILINE)
NAMED = re.compile(r"(?<![\w.])([A-Z]\d{1,2}) (?=[A-Z`*])")


def ids_of_tests() -> set[str]:
    return {rule for file in HERE.glob("test_*.py") for rule in TEST.findall(file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_a_test_named_by_it_and_a_mutant(rule: str) -> None:
    assert rule in ids_of_tests(), f"no test in tests/policies is named test_{rule}_..."
    assert rule in {mutant.rule for mutant in MUTANTS}, "a test that nothing can break holds nothing"


def test_no_test_and_no_mutant_is_of_an_unknown_rule() -> None:
    assert ids_of_tests() - RULES.keys() == set()
    assert {mutant.rule for mutant in MUTANTS} - RULES.keys() == set()


def test_the_rules_are_those_of_the_specification() -> None:
    if not SPECIFICATION.is_file():
        pytest.skip("shared/policies.md, the specification, is not beside this checkout")
    named = set(NAMED.findall(SPECIFICATION.read_text(encoding="utf-8")))
    assert named == {rule for rule in RULES if rule not in OWN}
