"""`offturn policies`: what can be chosen, what it comes to for a window, and which one fits."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from offturn.config import reserved_output
from offturn_config.describe import LIMIT_OF, Parameter, parameters, shown
from offturn_config.errors import InvalidSetting
from offturn_config.presets import load, names
from offturn_config.settings import load_trigger_settings, load_worker_settings
from offturn_models.prices import same_model_warning
from offturn_models.route import names_of
from offturn_worker.cli.output import out, print_json, print_table, say
from offturn_worker.recommend import QUESTIONS, recommend

typer_app = typer.Typer(
    help="List policies, show their parameters, and name one that fits.", invoke_without_command=True
)

Json = Annotated[bool, typer.Option("--json", help="One JSON value.")]
MaxOutput = Annotated[
    int | None, typer.Option(min=0, help="Tokens of it kept free for the answer; else an eighth, at most 8,192.")
]


@typer_app.callback()
def policies(context: typer.Context, as_json: Json = False) -> None:
    """List policies, show their parameters, and name one that fits."""
    if context.invoked_subcommand is None:
        list_policies(as_json)


@typer_app.command("list")
def list_policies(as_json: Json = False) -> None:
    """Every policy and what it does."""
    found = [load(name) for name in names()]
    if as_json:
        print_json([{"name": policy.name, "about": policy.about} for policy in found])
    else:
        print_table(("name", "about"), [(policy.name, policy.about) for policy in found])


@typer_app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A policy's name.")],
    window: Annotated[int, typer.Option(min=1, help="Context window in tokens.")] = 200_000,
    max_output: MaxOutput = None,
    model: Annotated[str | None, typer.Option(help="The model your host calls, as PROVIDER:MODEL.")] = None,
    as_json: Json = False,
) -> None:
    """Every parameter, its value, the size it takes part in for a window, and its meaning."""
    forced = load_trigger_settings().autocompact_pct
    policy = load(name, None if forced is None else {"trigger.pct_override": forced})
    limits = policy.limits(window, reserved_output(window, max_output))
    if as_json:
        print_json({"policy": policy.model_dump(), "limits": asdict(limits)})
        return
    out.print(f"{policy.name}: {policy.about}\n", markup=False)
    rows = [(row.path, shown(row.value), _size(row), row.meaning) for row in parameters(policy, limits)]
    print_table(("parameter", "value", "part of", "meaning"), rows)
    out.print(f"\nFor a window of {window:,} tokens, {limits.usable:,} of them usable:", markup=False)
    print_table(("limit", "tokens"), [(limit, f"{size:,}") for limit, size in asdict(limits).items()])
    for summarizer in names_of(load_worker_settings().summarizer) if model else ():
        if (warning := same_model_warning(summarizer, model)) is not None:
            say(f"OFFTURN_SUMMARIZER: {warning}")


@typer_app.command("recommend")
def recommend_one(
    like: Annotated[str | None, typer.Option(help=QUESTIONS["like"][0])] = None,
    source: Annotated[str | None, typer.Option(help=QUESTIONS["source"][0])] = None,
    provider: Annotated[str | None, typer.Option(help=QUESTIONS["provider"][0])] = None,
    fills: Annotated[str | None, typer.Option(help=QUESTIONS["fills"][0])] = None,
    as_json: Json = False,
) -> None:
    """Four questions, each of them an option too; without a terminal an unanswered one has its first answer."""
    given = {"like": like, "source": source, "provider": provider, "fills": fills}
    answers = {name: _answer(name, answer) for name, answer in given.items()}
    advice = recommend(answers)
    if as_json:
        print_json({"policy": advice.policy, "reason": advice.reason, "answers": answers})
    else:
        out.print(f"{advice.policy}: {advice.reason}", markup=False)


def _size(row: Parameter) -> str:
    """The limit that a parameter takes part in, and what that comes to."""
    return "-" if row.tokens is None else f"{LIMIT_OF[row.path]} {row.tokens:,}"


def _answer(name: str, given: str | None) -> str:
    question, possible = QUESTIONS[name]
    if given is None and sys.stdin.isatty():
        given = typer.prompt(f"{question} ({', '.join(possible)})", default=possible[0], err=True).strip()
    if given is None:
        return possible[0]
    if given not in possible:
        raise InvalidSetting(f"--{name} {given!r}: use one of {', '.join(possible)}")
    return given
