"""Is this server fit to keep sessions, and that one to carry the queue? From what they said; no I/O."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from offturn.wording import several
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.doctor.server import Server, Trouble
from offturn_worker.doctor.target import Target
from offturn_worker.server import LARGEST_SKEW_MS

LEAST = {"redis": (6, 2), "valkey": (7, 2)}
LOW, FULL = 0.8, 0.95  # of maxmemory
WRONG_SKEW_MS = 60_000
MB = 1_048_576


def trouble(target: Target, met: Trouble) -> Finding:
    """A server that could not be looked at."""
    path = shlex.quote(target.address.path)
    plain = "; a server that speaks no TLS is silent too" if met.why == "silent" and target.tls else ""
    return finding(f"{target.role}-{met.why}", f"{target.shown}: {met.detail}{plain}", cli=target.cli, path=path)


def store(target: Target, server: Server) -> Iterator[Finding]:
    """All checks of a store."""
    yield _version(target, server)
    yield _clock(server)
    if server.info:
        yield from _role(target, server)
        yield from _append_only(target, server)
        yield from _eviction(target, server)
        yield from _headroom(target, server)


def queue(target: Target, server: Server, *, shared: bool) -> Iterator[Finding]:
    """What hinders a server to carry the queue; nothing where all is well. `shared`: it is the store's, and was judged."""
    if server.info.get("cluster_enabled") == 1 or server.info.get("redis_mode") == "cluster":
        yield finding("queue-cluster", f"{target.shown} is a cluster, and arq's keys share no slot")
    if shared:
        return
    checked = _version(target, server)
    if checked.level != "ok":
        yield checked
    if server.info.get("role") == "slave":
        yield finding("queue-replica", _follows(target, server), primary=_primary(server), db=target.address.db)
    if (policy := server.info.get("maxmemory_policy")) not in (None, "noeviction"):
        yield finding("queue-evicts", f"maxmemory-policy {policy} drops jobs when memory is short", cli=target.cli)


def _version(target: Target, server: Server) -> Finding:
    where = f"{target.shown}, answers in {server.milliseconds} ms"
    if not server.version:
        return finding(f"{target.role}-untold", f"{where}; it does not tell its version and settings", cli=target.cli)
    least = LEAST[server.kind]
    numbers = tuple(int(n) for n in re.findall(r"\d+", server.version)[:2])
    if numbers < least:
        wanted = " or ".join(f"{name} {major}.{minor}" for name, (major, minor) in LEAST.items())
        return finding(f"{target.role}-old", f"{server.kind} {server.version} at {where}; {wanted} is needed")
    return finding(target.role, f"{server.kind} {server.version} at {where}")


def _clock(server: Server) -> Finding:
    size, side = abs(server.skew_ms), "ahead of" if server.skew_ms > 0 else "behind"
    if size <= LARGEST_SKEW_MS:
        return finding("clock", f"this machine's and the store's agree within {LARGEST_SKEW_MS / 1000:g} s")
    kind = "clock-wrong" if size > WRONG_SKEW_MS else "clock-skew"
    return finding(kind, f"this machine is {size / 1000:,.1f} s {side} the store, and so are the times in its logs")


def _role(target: Target, server: Server) -> Iterator[Finding]:
    match server.info.get("role"):
        case "slave":
            yield finding("role-replica", _follows(target, server), primary=_primary(server), db=target.address.db)
        case "master":
            yield finding("role", f"primary, {several(server.info.get('connected_slaves', 0), 'replica')}")


def _follows(target: Target, server: Server) -> str:
    return f"{target.shown} is a replica of {_primary(server)}: it takes no writes, or loses them"


def _primary(server: Server) -> str:
    return f"{server.info.get('master_host', 'HOST')}:{server.info.get('master_port', 6379)}"


def _append_only(target: Target, server: Server) -> Iterator[Finding]:
    info, fsync = server.info, server.appendfsync
    if "aof_enabled" not in info:
        yield finding("append-only-untold", "the server does not tell whether it keeps a file", cli=target.cli)
    elif info["aof_enabled"] != 1:
        yield finding(
            "append-only-off",
            "a restart of the server loses what it did not save; set it in the server's configuration file too",
            cli=target.cli,
        )
    elif info.get("aof_last_write_status", "ok") != "ok":
        yield finding(
            "append-only-failing", "the last write to the append-only file failed: disk full?", cli=target.cli
        )
    elif fsync == "no":
        yield finding("append-only-lazy", "appendfsync no: a power cut loses about 30 s", cli=target.cli)
    else:
        yield finding("append-only", f"on, appendfsync {fsync or 'not told'}")


def _eviction(target: Target, server: Server) -> Iterator[Finding]:
    policy = server.info.get("maxmemory_policy")
    if policy is None:
        yield finding("eviction-untold", "the server does not tell its maxmemory-policy", cli=target.cli)
    elif policy != "noeviction":
        yield finding("eviction-on", f"maxmemory-policy {policy} drops sessions when memory is short", cli=target.cli)
    else:
        yield finding("eviction", "maxmemory-policy noeviction")


def _headroom(target: Target, server: Server) -> Iterator[Finding]:
    used, most = server.info.get("used_memory"), server.info.get("maxmemory")
    if not isinstance(used, int) or not isinstance(most, int):
        return
    if most == 0:
        yield finding("headroom", f"{used / MB:,.1f} MB used, no limit set")
        return
    share = used / most
    facts = f"{used / MB:,.1f} of {most / MB:,.1f} MB used ({share:.0%})"
    if share < LOW:
        yield finding("headroom", facts)
    else:
        kind = "headroom-none" if share >= FULL else "headroom-low"
        yield finding(kind, f"{facts}; a full store takes no messages", cli=target.cli, bytes=2 * most)
