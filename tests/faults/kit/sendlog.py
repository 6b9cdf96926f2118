"""The send log of a host: what it is about to send, what it was told, what it was shown. The judge's main evidence."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Raw = Any


def digest(raw: Raw) -> str:
    """A message by its content, as a JSON value."""
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class SendLog:
    """Lines of one writer: every message once, then by digest."""

    def __init__(self, path: Path, session: str, writer: str, **facts: Any) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._known: set[str] = set()
        self._number = 0
        self._names = {"s": session, "w": writer}
        self.write("open", **facts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def write(self, event: str, **facts: Any) -> None:
        """One line, on disk before anything else happens."""
        self._file.write(json.dumps({"e": event, "t": time.monotonic(), **self._names, **facts}) + "\n")
        self._file.flush()

    def messages(self, raws: Sequence[Raw], **facts: Any) -> list[str]:
        """Their digests; those not seen before are written out."""
        found = []
        for raw in raws:
            name = digest(raw)
            if name not in self._known:
                self._known.add(name)
                self.write("msg", h=name, m=raw, **facts)
            found.append(name)
        return found

    def begin(self, what: str, **facts: Any) -> int:
        """Something is about to be sent; its number."""
        self._number += 1
        self.write(what, k=self._number, **facts)
        return self._number
