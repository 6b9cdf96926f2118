"""Can a model be called with this key at this address? Asked of the provider's list of models, which bills nothing.

A compatible server may have no such list, or list other names than it takes: then nobody can tell without paying.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from offturn_engine.provider_errors import Kind

from .errors import ModelError
from .failure import failure
from .model import Model

Lifecycle = Literal["active", "deprecated", "retired"]
Said: TypeAlias = Literal["found", "unlisted", "cannot_tell"] | Kind

WITHOUT_LIST = frozenset({400, 404, 405, 501})
"""What a server answers that has no list of models, or none of this form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What was learnt without a paid call. `window` in tokens, where the server says; `lifecycle` as Anthropic does.

    said: `found`, the server knows the model; `unlisted`, it lists others; `cannot_tell`, it has no list; `not_found`,
    its provider has no such model; any other kind is the trouble met on the way.
    """

    model: str
    said: Said
    window: int | None = None
    lifecycle: Lifecycle = "active"
    status: int | None = None


async def probe(model: Model, *, seconds: float) -> Probed:
    """Ask within `seconds`; loading the SDK does not count. Never raises for what a server says or does."""
    await asyncio.to_thread(importlib.import_module, model.provider)
    try:
        async with asyncio.timeout(seconds):
            return await _asked(model)
    except ModelError as error:
        return Probed(model=model.model, said=error.kind, status=error.status)
    except TimeoutError:
        return Probed(model=model.model, said="timeout")


async def _asked(model: Model) -> Probed:
    try:
        return _found(model, await _called(model, model.retrieve_facts))
    except ModelError as error:
        if model.at_provider or not _without_list(error):
            raise
    try:
        listed = await _called(model, model.list_facts)
    except ModelError as error:
        if not _without_list(error):
            raise
        return Probed(model=model.model, said="cannot_tell", status=error.status)
    facts = next((one for one in listed if getattr(one, "id", None) == model.name), None)
    return Probed(model=model.model, said="unlisted") if facts is None else _found(model, facts)


async def _called(model: Model, call: Callable[[], Awaitable[Any]]) -> Any:
    raised: Exception | None = None
    try:
        return await call()
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises may quote the request, so nothing of it passes
        raised = error
    broken, raised = failure(raised, model=model.model), None
    raise broken


def _without_list(error: ModelError) -> bool:
    return error.kind != "auth" and (error.kind == "garbled" or error.status in WITHOUT_LIST)


def _found(model: Model, facts: Any) -> Probed:
    """`max_input_tokens` is Anthropic's, `max_model_len` vLLM's; OpenAI tells no window."""
    if not isinstance(getattr(facts, "id", None), str):  # a page of HTML with status 200, say
        return Probed(model=model.model, said="garbled" if model.at_provider else "cannot_tell")
    sizes = (getattr(facts, name, None) for name in ("max_input_tokens", "max_model_len"))
    window = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    stage = getattr(facts, "lifecycle", None)
    lifecycle: Lifecycle = stage if stage in ("deprecated", "retired") else "active"
    return Probed(model=model.model, said="found", window=window, lifecycle=lifecycle)
