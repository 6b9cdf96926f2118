"""redis-py's connections, with less to do for each command: the same bytes, and the same connections taken for dead.

redis-py gives away a turn of the event loop to see whether a connection of its pool is still good, and joins a command
argument by argument. A host's call is a command or two, so that is a fifth of what it takes.
"""

from __future__ import annotations

import asyncio
import select
from functools import lru_cache
from typing import Any

from redis.asyncio import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.sentinel import SentinelManagedConnection

LARGE = 6_000  # bytes of an argument that is sent from where it is
_NAMED = frozenset({str, int})
PLAIN = "utf-8", "strict"  # how redis-py encodes text unless it is told otherwise
CAN_POLL = hasattr(select, "poll")  # not on Windows


class Quick(AbstractConnection):
    """Mixed into each of them."""

    async def can_read_destructive(self) -> bool:
        """Has the other end hung up, or is something left to read? One look tells, unless there is something to see."""
        # A later redis-py may call these otherwise; then it looks itself.
        parser, reader, writer = (getattr(self, name, None) for name in ("_parser", "_reader", "_writer"))
        if _is_read(parser) and _is_silent(reader, writer):
            return False
        for _ in range(2):  # redis-py looks before the event loop has read what the socket holds, and sees nothing
            await asyncio.sleep(0)
        return bool(await super().can_read_destructive())  # type: ignore[no-untyped-call]

    def pack_command(self, *args: Any) -> list[bytes]:
        """A command as it is sent; what is not the plain case of text, bytes and whole numbers is left to redis-py."""
        names = args[: 3 + args[2]] if args[0] == "EVALSHA" and len(args) > 2 and type(args[2]) is int else args[:1]
        coding = self.encoder.encoding, self.encoder.encoding_errors
        if not _NAMED.issuperset(map(type, names)) or coding != PLAIN or type(args[0]) is not str or " " in args[0]:
            return super().pack_command(*args)
        packed: list[bytes] = []
        pieces: list[bytes | memoryview] = [b"*%d\r\n" % len(args), _named(names)]
        for arg in args[len(names) :]:
            kind = type(arg)
            if kind is str:
                arg = arg.encode()
            elif kind is int:
                arg = b"%d" % arg
            elif kind is not bytes and kind is not memoryview:
                return super().pack_command(*args)
            if len(arg) > LARGE:
                pieces.append(b"$%d\r\n" % len(arg))
                packed += (b"".join(pieces), arg)
                pieces = [b"\r\n"]
            else:
                pieces += (b"$%d\r\n" % len(arg), arg, b"\r\n")
        packed.append(b"".join(pieces))
        return packed


class QuickConnection(Quick, Connection):
    """Over TCP."""


class QuickSSLConnection(Quick, SSLConnection):
    """Over TLS."""


class QuickUnixConnection(Quick, UnixDomainSocketConnection):
    """Over a socket of the file system."""


class QuickSentinelConnection(Quick, SentinelManagedConnection):
    """To the server that the sentinels name."""


@lru_cache(maxsize=1024)
def _named(names: tuple[str | int, ...]) -> bytes:
    """A command with the script and the keys it is for, as they are sent; a session's are the same in each call."""
    return b"".join(b"$%d\r\n%b\r\n" % (len(data), data) for data in (str(name).encode() for name in names))


def _is_read(parser: Any) -> bool:
    """Is it sure that the parser has nothing left of what came? hiredis takes several replies at once out of the event loop's hands."""
    hiredis = getattr(parser, "_reader", None)
    return not (getattr(parser, "_buffer", True) if hiredis is None else getattr(hiredis, "has_data", lambda: True)())


def _is_silent(reader: Any, writer: Any) -> bool:
    """Is it sure that nothing has come, and not the end either? Neither what the event loop has read nor the socket tells else."""
    if not CAN_POLL or reader is None or writer is None or getattr(reader, "_buffer", True) or reader.at_eof():
        return False
    socket = writer.get_extra_info("socket")
    number = -1 if socket is None else socket.fileno()
    if number < 0:
        return False
    looking = select.poll()
    looking.register(number, select.POLLIN)
    return not looking.poll(0)
