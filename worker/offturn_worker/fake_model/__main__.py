"""`python -m offturn_worker.fake_model`: serves until it is stopped, after one JSON line with its base URLs."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from offturn_worker.fake_model.server import FakeModel


def main(arguments: list[str] | None = None) -> None:
    """Runs the server."""
    parser = argparse.ArgumentParser(prog="python -m offturn_worker.fake_model", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--tokens-per-second", type=float, default=0.0, help="pace of a stream; 0: at once")
    parser.add_argument("--window", type=int, default=None, help="tokens above which a prompt is too long")
    parser.add_argument("--key", default=None, help="the only key accepted; without it any is")
    parser.add_argument("--models", default="fake", help="names its list holds, separated by commas; none: no list")
    given = parser.parse_args(arguments)
    server = FakeModel(
        host=given.host,
        port=given.port,
        delay=given.delay,
        tokens_per_second=given.tokens_per_second,
        window=given.window,
        key=given.key,
        models=None if given.models == "none" else given.models.split(","),
    )
    asyncio.run(_serve(server))


async def _serve(server: FakeModel) -> None:
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    async with server:
        sys.stdout.write(json.dumps({"url": server.url, "openai_url": server.openai_url}) + "\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    main()
