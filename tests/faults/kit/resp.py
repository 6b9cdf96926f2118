"""Reads Redis commands off a byte stream, as far as a proxy needs them: the first few arguments of each."""

from __future__ import annotations

from collections.abc import Iterator

KEPT = 3  # arguments of a command: a name, a script's hash, a number of keys
LONGEST = 128  # bytes of an argument worth keeping


class Commands:
    """Feed it what a client sends, in pieces of any size."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._missing = 0  # arguments of the command being read
        self._skip = 0  # bytes of an argument still to come, its line end included
        self._found: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[list[bytes]]:
        """The commands that are complete now."""
        self._held += data
        while self._step():
            if self._missing == 0 and self._skip == 0 and self._found:
                found, self._found = self._found, []
                yield found

    def _step(self) -> bool:
        if self._skip:
            passed = min(self._skip, len(self._held))
            del self._held[:passed]
            self._skip -= passed
            return passed > 0
        end = self._held.find(b"\r\n")
        if end < 0:
            return False
        line = bytes(self._held[:end])
        if line[:1] == b"*":
            self._missing = int(line[1:])
        elif line[:1] == b"$":
            size = int(line[1:])
            if len(self._found) < KEPT and size <= LONGEST:
                if len(self._held) < end + 2 + size + 2:
                    return False
                self._found.append(bytes(self._held[end + 2 : end + 2 + size]))
                end += size + 2
            else:
                self._found.append(b"")
                self._skip = size + 2
            self._missing -= 1
        del self._held[: end + 2]
        return True
