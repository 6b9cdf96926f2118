"""`offturn worker` and `offturn local`: the processes that compact. Only they load the servers they need."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from offturn_config.errors import InvalidSetting
from offturn_config.settings import load_http_settings, load_worker_settings, unknown_variables
from offturn_worker.cli.options import StoreUrl, SummarizerName, named_as_given
from offturn_worker.cli.output import out, say
from offturn_worker.logs import configure_logging
from offturn_worker.process import alone
from offturn_worker.summarizers import build_for_worker

if TYPE_CHECKING:
    from offturn_worker.app import Running

SNIPPET = """
import asyncio, offturn

async def main():
    async with offturn.CompactionClient.from_url("{url}") as client:
        session = client.session("hello", format="openai-chat", window=128_000)
        await session.record([{{"role": "user", "content": "Hello. Answer in one word."}}])
        view = await session.view()
        print(view.kwargs(), view.tokens)

asyncio.run(main())
"""

log = structlog.get_logger(__name__)


def worker(store: StoreUrl = None, summarizer: SummarizerName = None) -> None:
    """Run one worker process until SIGTERM or Ctrl-C. Settings: OFFTURN_* variables, see docs/settings.md."""
    from offturn_worker.app import run_worker

    with named_as_given(store_url=store, summarizer=summarizer):
        settings = load_worker_settings(store_url=store, summarizer=summarizer)
        configure_logging(level=settings.log_level, style=settings.log_format)
        if unknown := unknown_variables():
            log.warning("unknown_variables", variables=unknown, remedy="see docs/settings.md for those that are read")
        asyncio.run(alone(run_worker(settings, summarizer=build_for_worker(settings))))


def local(
    data: Annotated[Path, typer.Option(help="Folder of the embedded Valkey; kept between runs.")] = Path("~/.offturn"),
    summarizer: SummarizerName = None,
) -> None:
    """An embedded Valkey, one worker and the HTTP service, for a laptop. Ctrl-C stops all; the data stays."""
    from offturn_worker.app import run_worker

    folder = data.expanduser().resolve()
    url = f"embedded://{folder}"
    with named_as_given(summarizer=summarizer):
        settings = load_worker_settings(
            store_url=url, summarizer=summarizer, log_format="console", log_level="warning", health_port=-1
        )
        configure_logging(level=settings.log_level, style=settings.log_format)
        model = build_for_worker(settings)

    def started(running: Running, http: Sequence[str]) -> None:
        say(f"store       {url}")
        say(f"data        {folder}")
        say(f"summarizer  {settings.summarizer}")
        say(f"worker      {running.worker_id}")
        for line in http:
            say(line)
        say("Try it in another terminal, with the same Python:")
        say(SNIPPET.format(url=url))
        say("offturn's other commands, such as `offturn doctor`, look there after:")
        out.print(f"export OFFTURN_STORE_URL={shlex.quote(url)}", markup=False)
        say("Ctrl-C stops everything; the data stays.")

    async def run() -> None:
        async with _http(url, folder) as http:
            await run_worker(settings, summarizer=model, started=lambda running: started(running, http))

    say("starting the embedded Valkey, one worker and the HTTP service ...")
    asyncio.run(alone(run()))
    say("stopped")


@asynccontextmanager
async def _http(url: str, folder: Path) -> AsyncIterator[Sequence[str]]:
    """The HTTP service inside the block; lines that say where it, its key and its page are, or why there is none."""
    try:
        from offturn_http.page.signing import link
        from offturn_http.serving import service
    except ModuleNotFoundError as error:
        yield (f"http        none: {error.name} is missing, pip install '.[http]' brings it",)
        return
    async with AsyncExitStack() as stack:
        settings = load_http_settings(store_url=url)
        try:
            serving, _ = await stack.enter_async_context(service(settings))
        except InvalidSetting:  # another process is at that port
            serving, _ = await stack.enter_async_context(service(settings.model_copy(update={"http_port": 0})))
        place = folder / "http-key"
        if not (place.exists() and await serving.keys.caller(place.read_text().strip())):
            key, _ = await serving.keys.add("default", "operator", "offturn local")
            place.touch(mode=0o600)
            place.write_text(f"{key}\n")
        key = place.read_text().strip()
        yield f"http        {serving.address}, key in {place}", f"page        {link(serving.address, key)}"
