"""What the service can be asked: one row for each operation, from which routes, rights and the OpenAPI document follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import BaseModel
from starlette.responses import Response

from offturn_http.auth import Role
from offturn_http.wire import Answer, Given

if TYPE_CHECKING:
    from offturn_http.call import Call

Method: TypeAlias = Literal["GET", "POST", "DELETE"]
Handler: TypeAlias = "Callable[[Call], Awaitable[Answer | Response]]"

RANK: Mapping[Role, int] = {"reader": 0, "host": 1, "operator": 2}


SESSIONS = "/v1/sessions"
SESSION = f"{SESSIONS}/{{id}}"


@dataclass(frozen=True, slots=True)
class Operation:
    """name: its operationId. role: the least that may ask. query, body, answer: their types, None: it has none.

    keyed: repeats with the same Idempotency-Key take effect once. media: of the answer, where it is no JSON. tag: under which
    the document lists it. headers: of the answer, with what they say.
    """

    method: Method
    name: str
    path: str
    handler: Handler
    summary: str
    _: KW_ONLY
    tag: str
    role: Role = "host"
    query: type[Given] | None = None
    body: type[Given] | None = None
    answer: type[Answer] | None = None
    status: int = 200
    keyed: bool = False
    media: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def allows(self, role: Role) -> bool:
        """May a key of this role ask?"""
        return RANK[role] >= RANK[self.role]

    @property
    def models(self) -> list[type[BaseModel]]:
        """Every type it names."""
        return [model for model in (self.query, self.body, self.answer) if model is not None]
