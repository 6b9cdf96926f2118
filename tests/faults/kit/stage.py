"""Everything of a run, started and ended together: a Valkey, proxies, the provider, workers, hosts, and what they say."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from hashlib import sha1
from itertools import count
from pathlib import Path
from typing import Any, Self

from offturn.store.scripts import texts
from tests.faults.kit.children import Child, Message
from tests.faults.kit.proxy import Proxy
from tests.faults.kit.server import Server
from tests.faults.kit.tally import Tally
from tests.faults.kit.variants import broken
from tests.faults.kit.writer import Spec

HOST_TIMEOUT = 2.0  # seconds: the default of a host's call
SUMMARIZER_WINDOW = 7_500  # tokens: several chunks a compaction
DELAY = 0.15  # seconds before a model's answer, and once more while it streams
STARTS = 20  # of one worker


@dataclass(slots=True)
class Held:
    """A job that stands at a step, in a worker."""

    key: int
    worker: str
    session: str
    facts: Message


class Stage:
    """`async with Stage(...)`: server and provider run, nobody talks yet. `patience`: seconds of one call of a model."""

    def __init__(
        self, folder: Path, *, seed: int, lease_ms: int, provider: str = "openai", variant: str = "", patience: int = 6
    ) -> None:
        self.folder = folder
        self.seed = seed
        self.lease = lease_ms / 1000
        self.variant = variant
        self.tally = Tally(folder)
        self.server = Server(folder / "valkey")
        self.workers: dict[str, Child] = {}
        self.hosts: dict[str, Child] = {}
        self.proxies: dict[str, Proxy] = {}
        self.owners: dict[str, list[str]] = {}  # session -> hosts
        self.formats: dict[str, str] = {}  # of sessions
        self.steps: Counter[str] = Counter()
        self.provider = Child("provider")
        self.moving = asyncio.Lock()  # what is lost for good with a server's last second
        self.disturbing = asyncio.Lock()  # one thing at a time is done to the server
        self._wire = provider
        self._patience = patience
        self._provider_url = ""
        self._numbers = count(1)
        self._keys = count(1)
        self._holds: dict[int, asyncio.Future[Held]] = {}
        self._watchers: list[tuple[str, str, asyncio.Future[Message]]] = []
        self._seen = (folder / "workers.jsonl").open("a", encoding="utf-8")
        every = [*texts().items(), *broken(variant).items()]
        self._scripts = {sha1(text.encode()).hexdigest().encode(): name for name, text in every}

    async def __aenter__(self) -> Self:
        await self.server.start()
        told: list[Message] = []
        self.provider = Child("provider", lambda _, message: told.append(message))
        book = str(self.folder / "calls.jsonl")
        await self.provider.start("tests.faults.kit.provider", book, log=self._log("provider"))
        self._provider_url = told[0]["url"]
        self.provider.tell(delay=DELAY)
        return self

    async def __aexit__(self, *_: object) -> None:
        for child in (*self.hosts.values(), *self.workers.values(), self.provider):
            await child.kill()
        for proxy in self.proxies.values():
            await proxy.close()
        await self.server.stop()
        self.tally.close()
        self._seen.close()

    # -- hosts and workers

    async def start_host(self, name: str, sessions: Sequence[Spec], *, run: bool, skew: float = 0.0) -> None:
        """A host process with these sessions; `run`: they talk by themselves."""
        child = Child(name)
        await child.start("tests.faults.kit.host", name, str(self.folder), log=self._log(name))
        self.hosts[name] = child
        url = (await self._proxy(name)).url
        wanted = {"url": url, "timeout": HOST_TIMEOUT, "seed": self.seed, "variant": self.variant, "skew": skew}
        await child.ask(100, open={**wanted, "run": run, "sessions": [asdict(spec) for spec in sessions]})
        for spec in sessions:
            self.owners.setdefault(spec.session, []).append(name)
            self.formats[spec.session] = spec.format

    async def kill_host(self, name: str) -> None:
        """SIGKILL; what only this process knew is gone."""
        await self.hosts.pop(name).kill()
        await self.proxies.pop(name).close()
        for owners in self.owners.values():
            if name in owners:
                owners.remove(name)

    async def start_worker(self) -> str:
        """One more; its name. One that cannot start, because the store is away, is started again, as a pod is."""
        for _ in range(STARTS):
            name = f"worker{next(self._numbers)}"
            try:
                return await self._start_worker(name)
            except ChildProcessError as error:
                self.tally.note("worker did not start", worker=name, text=str(error))
                if proxy := self.proxies.pop(name, None):
                    await proxy.close()
                await asyncio.sleep(0.3)
        raise RuntimeError(f"no worker starts: see {self._log(name)}")

    async def _start_worker(self, name: str) -> str:
        child = Child(name, self._heard)
        settings = {
            "STORE_URL": (await self._proxy(name)).url,
            "WORKER_ID": name,
            "LEASE_MS": str(round(self.lease * 1000)),
            "HEALTH_PORT": "-1",
            "SUMMARIZER": f"{self._wire}:fake@{self._provider_url}{'/v1' if self._wire == 'openai' else ''}",
            "SUMMARIZER_WINDOW": str(SUMMARIZER_WINDOW),
            "SUMMARIZER_TIMEOUT": str(self._patience),
            "OPENAI_API_KEY": "key",
            "ANTHROPIC_API_KEY": "key",
            "JOB_TIMEOUT": "120",
            "TIMEOUT": "4",
            "PACK_AFTER_SECONDS": "0",
        }
        environment = {f"OFFTURN_{key}": value for key, value in settings.items()}
        await child.start("tests.faults.kit.worker", self.variant, log=self._log(name), environment=environment)
        self.workers[name] = child
        return name

    async def kill_worker(self, name: str, **facts: Any) -> float:
        """SIGKILL; when."""
        t = time.monotonic()
        self.tally.add("worker SIGKILL", worker=name, **facts)
        child = self.workers.pop(name)
        await child.kill()
        if proxy := self.proxies.pop(name, None):
            await proxy.close()
        return t

    async def stop_worker(self, name: str, seconds: float, **facts: Any) -> None:
        """SIGSTOP, and SIGCONT after `seconds`."""
        child = self.workers[name]
        child.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            child.signal(signal.SIGCONT)
        if child.alive:
            self.tally.add("worker SIGSTOP longer than the lease", worker=name, seconds=seconds, **facts)

    async def operate(self, session: str, operation: str, *, host: str = "", patience: float = 100) -> str:
        """Let a host of the session do something; `ok`, or why not."""
        child = self.hosts[host or self.owners[session][0]]
        answer = await child.ask(patience, do=operation, session=session)
        return "no answer" if answer is None else str(answer["result"])

    # -- steps

    @asynccontextmanager
    async def held(
        self, step: str, *, session: str | None = None, worker: str | None = None, nth: int = 1, patience: float = 8.0
    ) -> AsyncIterator[Held | None]:
        """The next job that reaches this step stands there inside the block; None: none did."""
        key = next(self._keys)
        found = asyncio.get_running_loop().create_future()
        self._holds[key] = found
        for name, child in self.workers.items():
            if worker in (None, name):
                child.tell(hold=key, step=step, session=session, nth=nth)
        try:
            done, _ = await asyncio.wait((found,), timeout=patience)
            held: Held | None = found.result() if done else None
            self._release(key, but=held.worker if held else "")
            yield held
        finally:
            del self._holds[key]
            self._release(key)

    def go(self, held: Held) -> None:
        """It goes on before the block ends."""
        if child := self.workers.get(held.worker):
            child.tell(go=held.key)

    def _release(self, key: int, but: str = "") -> None:
        for name, child in self.workers.items():
            if name != but:
                child.tell(go=key)

    async def seen(self, step: str, session: str, patience: float) -> Message | None:
        """The next time any worker reaches this step of this session."""
        future = asyncio.get_running_loop().create_future()
        watcher = (step, session, future)
        self._watchers.append(watcher)
        try:
            done, _ = await asyncio.wait((future,), timeout=patience)
            return future.result() if done else None
        finally:
            self._watchers.remove(watcher)

    def _heard(self, child: Child, message: Message) -> None:
        if "held" in message:
            hold = self._holds.get(message["held"])
            if hold is None or hold.done():
                child.tell(go=message["held"])
            else:
                hold.set_result(Held(message["held"], child.name, message["session"], message))
        elif "step" in message:
            self.steps[f"{message['step']} {message.get('got', '')}".strip()] += 1
            self._seen.write(json.dumps({**message, "worker": child.name}) + "\n")
            self._seen.flush()
            for step, session, future in self._watchers:
                if message["step"] == step and message["session"] == session and not future.done():
                    future.set_result({**message, "worker": child.name})

    # -- the end

    async def heal(self) -> None:
        """No fault goes on."""
        self.provider.tell(clear=True, gate=True)
        for proxy in self.proxies.values():
            proxy.heal()
        for child in self.workers.values():
            child.signal(signal.SIGCONT)

    async def ask_hosts(self, patience: float, **message: Any) -> Mapping[str, str]:
        """What each host answers."""
        answers = await asyncio.gather(*(child.ask(patience, **message) for child in self.hosts.values()))
        return {name: "no answer" if a is None else a["result"] for name, a in zip(self.hosts, answers, strict=True)}

    async def _proxy(self, name: str) -> Proxy:
        proxy = Proxy(name, lambda: self.server.port, self._scripts, self.tally)
        self.proxies[name] = await proxy.start()
        return proxy

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"
