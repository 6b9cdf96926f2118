"""`offturn policies`: what can be chosen, and what it comes to for a window."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from offturn.config import reserved_output
from offturn_config.groups import Group
from offturn_config.policy import Policy
from offturn_config.presets import load, names
from offturn_worker.cli.output import out, print_json, print_table

typer_app = typer.Typer(help="List policies and show their parameters.", invoke_without_command=True)

Json = Annotated[bool, typer.Option("--json", help="One JSON value.")]


@typer_app.callback()
def list_policies(context: typer.Context, as_json: Json = False) -> None:
    """List policies and show their parameters."""
    if context.invoked_subcommand is not None:
        return
    found = [load(name) for name in names()]
    if as_json:
        print_json([{"name": policy.name, "about": policy.about} for policy in found])
    else:
        print_table(("name", "about"), [(policy.name, policy.about) for policy in found])


@typer_app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A policy's name.")],
    window: Annotated[int, typer.Option(min=1, help="Context window in tokens.")] = 200_000,
    as_json: Json = False,
) -> None:
    """Every parameter, its meaning, and what it comes to for a window."""
    policy = load(name)
    limits = policy.limits(window, reserved_output(window, None))
    if as_json:
        print_json({"policy": policy.model_dump(), "limits": asdict(limits)})
        return
    out.print(f"{policy.name}: {policy.about}\n", markup=False)
    print_table(("parameter", "value", "meaning"), _rows(policy))
    out.print(f"\nFor a window of {window} tokens:", markup=False)
    print_table(("limit", "tokens"), list(asdict(limits).items()))


def _rows(policy: Policy) -> list[tuple[str, object, str]]:
    rows: list[tuple[str, object, str]] = []
    for field, info in Policy.model_fields.items():
        value = getattr(policy, field)
        if isinstance(value, Group):
            fields = type(value).model_fields.items()
            rows += [(f"{field}.{name}", getattr(value, name), about.description or "") for name, about in fields]
        elif info.description:
            rows.append((field, value, info.description))
    return rows
