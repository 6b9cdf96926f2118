"""Deliberately broken builds, made on the test side: patched script texts, and wrappers that tamper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from redis.asyncio import Redis

from offturn.store import scripts


class Patch(NamedTuple):
    """`script` "" means all of them."""

    script: str
    old: str
    new: str


EPOCH = Patch("", "set('epoch', a.op)", "")

PATCHES: Mapping[str, tuple[Patch, ...]] = {
    "no-claim-check": (Patch("", "return num('fence') == claim.fence and s.token == claim.token", "return true"),),
    "no-operation-id": (Patch("", "redis.call('HGET', OPS, a.op)", "false"),),
    "epoch-not-replaced": tuple(
        EPOCH._replace(script=name) for name in ("rollback", "undo", "configure", "cancel", "redact")
    ),
    "lost-dirty-flag": (Patch("finish", "pending = wanted()", "pending = false"),),
    "unchecked-purge": (Patch("purge", "if gone(a.incarnation) then return reply('gone') end", ""),),
    "committed-twice": (Patch("commit", "if not reached(a.base) then return refused('base') end", ""),),
}

TAMPERED = ("view-altered", "message-dropped")
"""Made by the host of the kit."""

VARIANTS = (*PATCHES, *TAMPERED)


def broken(variant: str) -> dict[str, str]:
    """The scripts' texts in this build. Raises ValueError where a patch changes nothing any more."""
    found = dict(scripts.texts())
    for patch in PATCHES.get(variant, ()):
        names = [patch.script] if patch.script else list(found)
        changed = [name for name in names if patch.old in found.get(name, "")]
        if not changed and patch.script != "redact":
            raise ValueError(f"variant {variant}: {patch.old!r} is not in {patch.script or 'any script'} any more")
        for name in changed:
            found[name] = found[name].replace(patch.old, patch.new)
    return found


def install(variant: str) -> None:
    """Every store that this process opens from now on runs the broken texts."""
    if variant in PATCHES:
        texts, build = broken(variant), scripts.Scripts.__init__

        def patched(self: scripts.Scripts, redis: Redis, given: Mapping[str, str]) -> None:
            build(self, redis, {name: texts.get(name, text) for name, text in given.items()})

        setattr(scripts.Scripts, "__init__", patched)  # noqa: B010 - a method is replaced on purpose
