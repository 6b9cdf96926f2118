"""docs/policies.md, made from the presets. `make docs` writes it; a test compares it with the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from offturn.config import reserved_output
from offturn_config.describe import paths, shown, value_of
from offturn_config.errors import InvalidPolicy
from offturn_config.policy import Policy
from offturn_config.presets import DEFAULT, load, names
from offturn_engine.templates import TEMPLATES
from offturn_worker.recommend import ADVICE, QUESTIONS
from tests.policies.mutants import MUTANTS
from tests.policies.rules import RULES

PAGE = Path(__file__).parents[2] / "docs/policies.md"
WINDOWS = (64_000, 128_000, 200_000, 1_000_000)

HEAD = """# Policies

A policy says when a compaction is wanted, how small it gets, what stays and what a model is asked for. It is data: a
TOML file in `config/offturn_config/presets/`. Hosts choose one by name and may override any parameter per session:
`client.session(..., policy="hermes", overrides={"boundary.tail_messages": 30})`. This page is made from these files by
`make docs`, and a test compares the two; `offturn policies show NAME --window N` prints one policy with its sizes.

Two families: what published articles describe, under the names users know, and what the released programs do, read from
their sources (`hermes-0.19`, `hermes-lean`, `codex-0.125`, `codex-remote`, `opencode-1.17`). Prompts are in our own
words; headings and placeholders are literal. `make policy-mutants` shows that each rule has a test that notices when its
parameter changes.
"""

WHICH = """## Which policy?
`offturn policies recommend` asks these questions; the first row that fits counts. A dash means: whatever the answer.
"""

TRIGGERS = """## When a compaction is wanted
Tokens of the view, for four windows with the default room for an answer. *soft* starts one in the background, from *hard*
on `view(hold=)` waits for it, *target* is the goal, nothing above *ceiling* is published. *refused*: the policy leaves no
room for its own summary and one tool result of 10,000 tokens in a window of that size; lower `trigger.soft` there.
"""

KEEPS = """## What is kept and what goes
*untouched*: what no summary covers, with the request that waits for its answer, while that is small enough. Headings are
counted where text stands under them: `eight-section` has nine, because its Progress is three.
"""

SIDES = """## Client side and server side
What happens in offturn's own worker, and what a provider can be asked to do instead. Whatever the provider does, the log
keeps every message, and facts taken by code stand beside what only the provider can read.
"""

RULES_HEAD = """## The rules
What tests hold each policy to: those of a rule are named by its id (`test_H1_...` in `tests/policies/`), and fail when
the parameter in the last column has another value.
"""

PARAMETERS = """## Every parameter
A fraction is a share of the context window (of the view for `minimum_gain`), a whole number is tokens, characters or a
count as its meaning says. A dash means none.
"""


def page() -> str:
    """The whole page."""
    policies = [load(name) for name in ordered()]
    parts = [
        HEAD,
        _table(("policy", "in a sentence"), ((f"`{p.name}`", p.about) for p in policies)),
        WHICH,
        _which(),
        TRIGGERS,
        _table(("policy", *(f"{window // 1000:,}K" for window in WINDOWS)), (_sizes(p) for p in policies)),
        KEEPS,
        _table(
            ("policy", "old tool results", "human messages", "untouched", "model asked", "sections", "facts by code"),
            (_keeps(p) for p in policies),
        ),
        SIDES,
        _table(
            ("policy", "who compacts", "request options", "tokens measured", "cache"), (_sides(p) for p in policies)
        ),
        RULES_HEAD,
        _table(("rule", "what holds", "noticed, for instance"), _rules()),
        PARAMETERS,
        *_parameters(policies),
    ]
    return "\n".join(parts)


def ordered() -> list[str]:
    """The default first."""
    return [DEFAULT, *(name for name in names() if name != DEFAULT)]


def _which() -> str:
    questions = "\n".join(f"- **{name}**: {text} {', '.join(a)}." for name, (text, a) in QUESTIONS.items())
    rows = ((*(getattr(a, name) or "-" for name in QUESTIONS), f"`{a.policy}`", a.reason) for a in ADVICE)
    return f"{questions}\n\n{_table((*QUESTIONS, 'policy', 'because'), rows)}"


def _sizes(policy: Policy) -> Sequence[str]:
    return (f"`{policy.name}`", *(_size(policy, window) for window in WINDOWS))


def _size(policy: Policy, window: int) -> str:
    try:
        limits = policy.limits(window, reserved_output(window, None))
    except InvalidPolicy:
        return "refused"
    return f"soft {limits.soft:,}, hard {limits.hard:,}, target {limits.target:,}, ceiling {limits.ceiling:,}"


STYLES = {
    "off": "as they are",
    "placeholder": "become a fixed text",
    "one-line": "become one line: tool, target, exit code, size",
    "tool-line": "become one line as Hermes Agent writes it, without a handle",
    "head-tail": "become their telling lines",
    "hidden": "leave with their group",
}
GATES = {
    "always_summarise": "always",
    "if_above_trigger": "where pruning misses the soft level",
    "if_above_target": "where pruning misses the target",
}
MEASURES = {
    "calibrated": "estimates corrected by usage",
    "bytes4": "bytes / 4",
    "chars4": "characters / 4",
}
PLACES = {"block": "after the summary", "section": "as a section of it", "messages": "as messages before it"}
REMOTE = {
    "none": "offturn",
    "openai-compact": "OpenAI's endpoint",
    "anthropic-compact": "Anthropic's beta",
    "managed": "the provider, inside the request",
}


def _keeps(policy: Policy) -> Sequence[str]:
    prune, boundary, human = policy.prune, policy.boundary, policy.human
    results = STYLES[prune.style]
    if prune.only == "reproducible":
        results += ", where they can be had again"
    if prune.style == "hidden":
        results += f", but for the newest {prune.protected_tokens:,} tokens and {prune.protected_turns} turns"
    if prune.protected_results:
        results += f", but for the newest {prune.protected_results}"
    words = "all" if human.budget == "unlimited" else f"{shown(human.budget)} of the window"
    if isinstance(human.budget, int):
        words = f"{human.budget:,} tokens"
    untouched = [f"first {boundary.head_messages}"] if boundary.head_messages else []
    untouched += [f"newest {boundary.tail_messages} messages"] if boundary.tail_messages else []
    untouched += [f"newest {shown(boundary.tail)} of {boundary.tail_of}{_bounds(policy)}"] if boundary.tail else []
    return (
        f"`{policy.name}`",
        results,
        f"{words}, {PLACES[human.placement]}",
        ", ".join(untouched) or "what waits for its answer",
        GATES[policy.gate] + (", and the ledger does too" if policy.summary.ledger_first else ""),
        f"{len(TEMPLATES[policy.summary.template].titles)} (`{policy.summary.template}`)",
        "constraints only" if policy.ledger.budget == 0 else f"{shown(policy.ledger.budget)} of the window",
    )


def _bounds(policy: Policy) -> str:
    """Between which sizes the tail is, and how many turns it goes back at most."""
    rules = policy.boundary
    least, most = rules.tail_minimum, rules.tail_maximum
    sizes = f" (from {least:,} to {most:,} tokens)" if most is not None else ""
    return sizes + (f", of the last {rules.tail_turns} turns" if rules.tail_turns is not None else "")


def _sides(policy: Policy) -> Sequence[str]:
    return (
        f"`{policy.name}`",
        REMOTE[policy.remote.mode],
        "clears old tool uses and thinking (Anthropic)" if policy.remote.provider_edits else "-",
        MEASURES[policy.trigger.estimator],
        "breakpoints on the system prompt and the last three messages (Anthropic)"
        if policy.after.cache == "system_and_3"
        else "-",
    )


def _rules() -> Iterable[Sequence[str]]:
    for rule, text in RULES.items():
        changed = (f"`{m.path} = {shown(m.value)}` in `{m.preset}`" for m in MUTANTS if m.rule == rule)
        yield rule, text, "; ".join(changed)


def _parameters(policies: Sequence[Policy]) -> Iterable[str]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for path, meaning in paths():
        groups.setdefault(path.partition(".")[0] if "." in path else "gate", []).append((path, meaning))
    for group, found in groups.items():
        yield f"### {group}"
        yield _table(("parameter", "meaning"), ((f"`{path}`", meaning) for path, meaning in found))
        names_ = [path.rpartition(".")[2] for path, _ in found]
        rows = ((f"`{p.name}`", *(shown(value_of(p, path)) for path, _ in found)) for p in policies)
        yield _table(("policy", *names_), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"|{'|'.join(f' {cell} ' if cell != '---' else cell for cell in row)}|" for row in lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
