"""schemathesis against the document: whatever is asked, the answer is one that is described, and none says 5xx.

OFFTURN_TEST_SCHEMA=N asks N times as much.
"""

from __future__ import annotations

import os
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from offturn_http.openapi import document
from tests.http.conftest import Ask
from tests.http.serving import CHAT, Served, says, user

TIMES = int(os.environ.get("OFFTURN_TEST_SCHEMA", "1"))
EXAMPLES = 20 * TIMES  # of each operation and kind of data
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OF_NEGATIVE: list[Any] = [negative_data_rejection]
OPERATIONS = sorted((path, method) for path, methods in document()["paths"].items() for method in methods)
SCHEMA = schemathesis.openapi.from_dict(document())
THERE = "chat:42"


def _varies(path: str, method: str) -> bool:
    """Has the operation anything that a case could vary?"""
    operation = document()["paths"][path][method]
    return bool(operation["parameters"] or "requestBody" in operation)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{method} {path}" for path, method in OPERATIONS])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_every_answer_is_described(path: str, method: str, mode: GenerationMode, ask: Ask, service: Served) -> None:
    host, operation, asked = ask("operator"), SCHEMA[path][method], 0
    strategy = operation.as_strategy(generation_mode=mode)

    @settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=strategy, there=st.booleans())
    def answered(case: Any, there: bool) -> None:
        nonlocal asked
        if there and "id" in (case.path_parameters or {}) and mode is GenerationMode.POSITIVE:
            case.path_parameters["id"] = THERE
            _session(host)
        asked += 1
        lost = (
            [] in (case.query or {}).values()
        )  # nothing of such a parameter is sent, so nothing is wrong with what is
        checks = CHECKS + (OF_NEGATIVE if mode is GenerationMode.NEGATIVE and not lost else [])
        case.call_and_validate(
            base_url=service.url, headers={"Authorization": host.headers["authorization"]}, checks=checks
        )

    answered()
    assert asked >= (EXAMPLES if _varies(path, method) else 1)


def _session(host: httpx.Client) -> None:
    given = {"after": "*", "messages": [user("hello"), says("hi")], "session": CHAT, "want": None}
    host.post(f"/v1/sessions/{THERE}/turn", json=given)


def test_these_are_a_thousand_cases() -> None:
    kinds = 2
    assert kinds * EXAMPLES * sum(_varies(path, method) for path, method in OPERATIONS) >= 1_000
