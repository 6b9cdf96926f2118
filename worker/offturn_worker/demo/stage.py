"""The demonstration from curtain to curtain: processes, the play, what happens between turns, the account."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from offturn import Compacted, CompactionClient, Pruned, Session
from offturn.config import ANY_WINDOW
from offturn.links import Connector
from offturn_config.errors import InvalidSetting
from offturn_engine.ranges import Ranges, label
from offturn_worker.demo.account import Account, account, write
from offturn_worker.demo.play import WINDOW, Play, Turn
from offturn_worker.demo.processes import Processes
from offturn_worker.demo.recorded import recording
from offturn_worker.shutdown import stop_on_signal

SESSION = "demo"
SLOWED_SECONDS = 0.6
HELD_SECONDS = 300.0  # of a worker that is to be killed in the middle of a job: longer than any turn
STORE_SECONDS = 20.0  # of one call: a busy machine is no outage, which is not what is shown here
EVERY = 10  # turns between two lines where nothing happened


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for on the command line."""

    kill: bool
    fake_model: bool
    web: bool
    summarizer: str
    out: Path | None


@dataclass(slots=True)
class Stage:
    """One run. `say` prints a line for people."""

    wishes: Wishes
    say: Callable[[str], None]
    processes: Processes
    session: Session
    killed: bool = False
    rolled_back: bool = False
    seen: set[int] = field(default_factory=set)

    async def after(self, turn: Turn) -> None:
        """Between two turns: the log line, then a kill, then a rollback, each once."""
        self._log(turn)
        if self.wishes.kill and not self.killed and turn.running:
            await self._kill()
        if len(self.seen) >= 2 and not self.rolled_back and not turn.running:
            await self._roll(turn)

    def _log(self, turn: Turn) -> None:
        view = turn.view
        if turn.adopted:
            self.seen.add(view.generation)
            what = f"view {_k(turn.before)} -> {_k(view.tokens)}  generation {view.generation} adopted ({view.kind})"
        elif turn.number == 1 or turn.number % EVERY == 0 or turn.running:
            what = f"view {_k(view.tokens)}" + ("  a job is running, the host goes on" if turn.running else "")
        else:
            return
        self.say(f"turn {turn.number:3}  waited {turn.waited:4.0f} ms  {what}")

    async def _kill(self) -> None:
        first = self.processes.workers[0]
        await self.processes.kill(first)
        second = await self.processes.worker(SLOWED_SECONDS)
        self.killed = True
        self.say(f"SIGKILLed worker {first.pid} in the middle of its job; worker {second.pid} will take over")

    async def _roll(self, turn: Turn) -> None:
        self.rolled_back = True
        newest = turn.view.generation
        older = next(g.replaces for g in await self.session.generations() if g.number == newest)
        await self.session.rollback(generation=older, force=True)
        back = await self.session.view(window=ANY_WINDOW)
        await self.session.rollback(generation=newest, force=True)
        forth = await self.session.view()
        self.say(f"rolled back to generation {older}: view {_k(back.tokens)}; forward to {newest}: {_k(forth.tokens)}")


async def run(wishes: Wishes, say: Callable[[str], None]) -> Account:
    """The whole demonstration; writes to `wishes.out` where given."""
    played = recording()
    with tempfile.TemporaryDirectory(prefix="offturn-demo-") as folder:
        url = f"embedded://{folder}/valkey"
        say("starting the embedded Valkey")
        async with CompactionClient.from_url(url, timeout=STORE_SECONDS) as client:
            # Without restores: who recounts the views is to find what was sent, and nothing else.
            session = client.session(
                SESSION, format="openai-chat", window=WINDOW, overrides={"after.restore_tokens": 0}
            )
            await client.sessions(1)
            processes = Processes({"OFFTURN_STORE_URL": url, "OFFTURN_HEALTH_PORT": "-1"})
            try:
                summarizer = await _summarizer(wishes, processes, say)
                worker = await processes.worker(HELD_SECONDS if wishes.kill else SLOWED_SECONDS)
                say(f"started worker {worker.pid}, summarizer {summarizer}")
                say(_slowed(wishes))
                if wishes.web:
                    say(f"watch it at {await _page(processes, url)}")
                say("the recorded answers come at once; near a full window they are slowed, as real models are slow")
                say(f"playing {len(played.messages)} recorded messages against a window of {_k(WINDOW)} tokens")
                stage = Stage(wishes, say, processes, session)
                play = Play(played, session, stage.after, say)
                await play.run()
                facts = await account(session, played, play.turns)
                _tell(facts, play, say)
                if wishes.out:
                    write(wishes.out, played, play.turns, asdict(facts))
                    say(f"written to {wishes.out}")
                if wishes.web:
                    say("the page stays until Ctrl-C")
                    with stop_on_signal() as stop:
                        await stop.wait()
                return facts
            finally:
                await processes.stop()


def _slowed(wishes: Wishes) -> str:
    if wishes.kill:
        return "its first commit waits until it is killed, so that this happens in the middle of a job"
    return f"its commits are slowed by {SLOWED_SECONDS} s, so that the host can be seen going on meanwhile"


async def _page(processes: Processes, url: str) -> str:
    """What to open in a browser. The key is gone with the store."""
    try:
        from offturn_http.keys import StoredKeys
        from offturn_http.page.signing import link
    except ModuleNotFoundError as error:
        raise InvalidSetting(f"--web: {error.name} is missing, pip install '.[http]' brings it") from None
    address = await processes.page()
    connector = Connector(url, None, STORE_SECONDS, on_outage="raise")
    try:
        key, _ = await StoredKeys(connector.links).add("default", "operator", "offturn demo")
    finally:
        await connector.close()
    return link(address, key, f"/session?id={SESSION}")


async def _summarizer(wishes: Wishes, processes: Processes, say: Callable[[str], None]) -> str:
    name = wishes.summarizer
    if wishes.fake_model:
        url = await processes.fake_model(delay=0.3)
        name = f"anthropic:fake-claude@{url},openai:fake-gpt@{url}/v1"
        processes.environment["OFFTURN_SUMMARIZER_WINDOW"] = "16000"
        say(f"started a local model server at {url}")
    processes.environment["OFFTURN_SUMMARIZER"] = name
    return name


def _tell(facts: Account, play: Play, say: Callable[[str], None]) -> None:
    for outcome in play.outcomes:
        if isinstance(outcome, Compacted | Pruned):
            say(
                f"last compaction: {outcome.tokens_before} -> {outcome.tokens_after} tokens, generation {outcome.generation}"
            )
    say("")
    for one in facts.compactions:
        update = ", updating the one before" if one["update"] else ""
        say(
            f"generation {one['number']}: {one['method']}, reason {one['reason']}{update}, covers {_covered(one['covered'])}"
        )
    say(
        f"sent {facts.messages_sent} messages, lost {facts.lost}, altered {facts.altered}; "
        f"{facts.generations} generations; {facts.tokens_before} -> {facts.tokens_after} tokens; "
        f"longest wait {facts.longest_wait_ms:.0f} ms"
    )
    _excerpt(play, say)


def _excerpt(play: Play, say: Callable[[str], None]) -> None:
    """A human's constraint, as sent and as the last view shows it."""
    view = play.turns[-1].view
    summary = next((str(m["content"]) for m in view.messages if str(m.get("content", "")).startswith("[Summary")), "")
    constraint = next((c for c in play.recording.constraints if c in summary), None)
    if constraint is None:
        return
    at = next(i for i, m in enumerate(play.recording.messages) if constraint in str(m.get("content", "")))
    place = summary.index(constraint)
    say("")
    say(
        f"before: message {at} of {len(play.recording.messages)}, in a view of {len(play.recording.messages)} messages:"
    )
    say(f"  ... {constraint} ...")
    say(f"after: the summary of a view of {len(view.messages)} messages, word for word:")
    say("  ... " + " ".join(summary[max(0, place - 60) : place + len(constraint) + 40].split()) + " ...")


def _k(tokens: int) -> str:
    return f"{tokens / 1_000:.0f}k"


def _covered(ranges: Ranges) -> str:
    return f"messages {label(ranges)}" if ranges else "nothing: parts became shorter where they stand"
