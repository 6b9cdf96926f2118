"""Packs a session and takes the packs apart again, until it is killed: argv is the store's URL and the session's name."""

from __future__ import annotations

import asyncio
import sys

from redis.asyncio import Redis

from offturn import packing
from offturn.packing import pack_covered, unpack
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from tests.integration.packed import EVER


async def main(url: str, session: str) -> None:
    packing.LEAST_BYTES, packing.RAW_BYTES = 1, 6_000
    store, key = SessionStore(Redis.from_url(url)), SessionKey("default", session)
    while True:
        await pack_covered(store, key, before_ms=EVER)
        meta = await store.meta(key)
        assert meta
        sys.stdout.write(f"{meta.base}\n")
        sys.stdout.flush()
        await unpack(store, key, meta, down_to=0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
