"""Four questions, and the policy that fits the answers, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

QUESTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "like": (
        "Must it behave like an agent that your users know?",
        ("none", "hermes", "codex", "claude-code", "opencode"),
    ),
    "source": ("Like its articles describe it, or like its released program?", ("articles", "released")),
    "provider": ("Whose API does the host call?", ("other", "anthropic", "openai")),
    "fills": (
        "What fills a session: tool results, talk, or phases whose end the host can name?",
        ("tools", "talk", "phases"),
    ),
}
"""By the name of the option: the question, and its answers, the first of them the default."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A policy for answers (None: whatever they are), and why."""

    policy: str
    reason: str
    like: str | None = None
    source: str | None = None
    provider: str | None = None
    fills: str | None = None

    @property
    def answers(self) -> dict[str, str]:
        """The answers it is for, by the name of the question."""
        given = {name: getattr(self, name) for name in QUESTIONS}
        return {name: answer for name, answer in given.items() if answer is not None}


ADVICE = (
    Advice(
        "hermes",
        "its articles' numbers: from half of the window, eight headings, the newest twenty messages whole",
        "hermes",
        "articles",
    ),
    Advice(
        "hermes-lean",
        "its small tail: talk is kept word for word, and one call writes the rest",
        "hermes",
        "released",
        fills="talk",
    ),
    Advice(
        "hermes-0.19",
        "its program of 0.19: from 75 % of windows below 512K, one line for each old result",
        "hermes",
        "released",
    ),
    Advice(
        "codex", "its articles: one handoff briefing, every human message word for word before it", "codex", "articles"
    ),
    Advice(
        "codex-remote",
        "its program with OpenAI's own compaction, and facts of ours beside the opaque item",
        "codex",
        "released",
        "openai",
    ),
    Advice(
        "codex-0.125", "its program elsewhere: human messages up to 20,000 tokens, newest first", "codex", "released"
    ),
    Advice(
        "claude-code",
        "its four tiers; the second one is Anthropic's own clearing of tool uses",
        "claude-code",
        provider="anthropic",
    ),
    Advice(
        "claude-code-3layer",
        "its three layers: results cleared in steps at every turn, no help of the provider needed",
        "claude-code",
    ),
    Advice(
        "opencode",
        "its articles: old groups are hidden, a summary only where that is not enough",
        "opencode",
        "articles",
    ),
    Advice(
        "opencode-1.17",
        "its program of 1.17: no pruning, an anchored record, the last two turns as tail",
        "opencode",
        "released",
    ),
    Advice(
        "five-step",
        "a record at the end of each phase, when nothing is in flight; the last six messages untouched",
        "none",
        fills="phases",
    ),
    Advice(
        "balanced",
        "prunes first, asks a model only where that is not enough, keeps human words and facts by code",
        "none",
    ),
)
"""The first that fits counts."""


def recommend(answers: Mapping[str, str]) -> Advice:
    """The advice for an answer to each question."""
    return next(a for a in ADVICE if all(answers[name] == answer for name, answer in a.answers.items()))
