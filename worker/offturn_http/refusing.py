"""What comes in and is no HTTP: refused with a problem, as everything else is."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from offturn_http.problems import NO_HTTP, Problem

CLOSE = {"Connection": "close"}


def ambiguous(names: list[bytes]) -> bool:
    """Do the headers of these names say the body's end in two ways? Who stands in between may see another request in it."""
    return b"transfer-encoding" in names and b"content-length" in names


class Refusing(H11Protocol):
    """uvicorn's protocol, which would answer with plain text, and fail where an answer has begun already."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's words
        """As uvicorn's."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        refused = Problem(NO_HTTP, headers=CLOSE).response()
        head = h11.Response(status_code=refused.status_code, headers=refused.raw_headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(refused.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
