"""What a host's views tell of the request around their messages, kept where a policy lets the session's own model summarise."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.own_model import FRAME
from offturn.store.errors import StoreFull, StoreUnavailable
from offturn.view import Options
from offturn_engine.frame import Frame


def frame_of(options: Options) -> Frame:
    """System prompt, tools and leading messages of one call."""
    return Frame(system=options.system, tools=options.tools, lead=options.lead)


async def keep_frame(cache: Cache, config: SessionConfig, options: Options) -> None:
    """Store them where they are not what this handle has stored, and once for each generation: what is kept may be crowded out."""
    meta = cache.meta
    if config.policy.summary.same_model == "never" or meta is None:
        return
    try:
        text = frame_of(options).to_json()
    except (TypeError, ValueError):  # objects of an SDK: then nobody can repeat the request
        return
    mark = f"{meta.incarnation}.{cache.redactions}.{meta.current}.{sha256(text.encode()).hexdigest()}"
    if mark == cache.framed:
        return
    lives = {"incarnation": meta.incarnation, "redactions": cache.redactions}
    with suppress(StoreUnavailable, StoreFull):  # the view is as good without
        if await cache.store.save_chunk(cache.key, **lives, chunk_key=FRAME, value=text):
            cache.framed = mark
