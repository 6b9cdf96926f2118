"""The examples of the OpenAPI document: every operation has them, they fit its schemas, and the service answers so.

OFFTURN_TEST_EXAMPLES=1 writes them anew, as the service answers now.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from offturn_http import problems
from offturn_http.handlers import OPERATIONS
from offturn_http.openapi import document
from offturn_http.operations import Operation
from tests.http.conftest import Ask, Do
from tests.http.story import Example, Story, shape, tell

PLACE = Path(str(files("offturn_http").joinpath("examples.json")))
WRITE = bool(os.environ.get("OFFTURN_TEST_EXAMPLES"))
KINDS = {kind.type for kind in vars(problems).values() if isinstance(kind, problems.Kind)} | {
    kind.type for kind in problems.OF_ERROR.values()
}


def test_the_service_answers_as_the_examples_say(ask: Ask, do: Do) -> None:
    story = Story(ask, {one.name: (one.method, one.path) for one in OPERATIONS})
    found = tell(story, lambda work: do(lambda client, _: work(client)))
    if WRITE:
        PLACE.write_text(json.dumps(_of_acme(found), indent=1, ensure_ascii=False) + "\n")
    assert [shape(one) for one in found] == [shape(one) for one in json.loads(PLACE.read_text())]


def _of_acme(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "acme" if name == "tenant" else _of_acme(one) for name, one in value.items()}
    return [_of_acme(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_has_examples_that_fit(operation: Operation) -> None:
    said = document()["paths"][operation.path][operation.method.lower()]
    if operation.body is not None:
        bodies = said["requestBody"]["content"]["application/json"]
        assert list(_fitting(bodies))
    examples = {one["name"]: one["example"] for one in said["parameters"] if "example" in one}
    assert {one["name"] for one in said["parameters"] if one["required"]} <= examples.keys()
    assert bool(examples) is bool([one for one in said["parameters"] if one["name"] != "limit"])
    for one in said["parameters"]:
        if one["name"] in examples:
            _check(one["schema"], examples[one["name"]])

    for media in said["responses"][str(operation.status)].get("content", {}).values():
        assert list(_fitting(media))
    told = [
        (status, problem)
        for status, answer in said["responses"].items()
        if problems.MEDIA in answer.get("content", {})
        for problem in _fitting(answer["content"][problems.MEDIA])
    ]
    assert told
    for status, problem in told:
        assert (problem["status"], problem["type"] in KINDS) == (int(status), True)


def _fitting(media: Example) -> Iterator[Any]:
    """The examples of a media type, each checked against its schema."""
    for one in media.get("examples", {}).values():
        _check(media["schema"], one["value"])
        yield one["value"]


def _check(schema: Any, value: Any) -> None:
    jsonschema_rs.Draft202012Validator({**schema, "components": document()["components"]}).validate(value)
