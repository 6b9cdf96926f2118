"""offturn for hosts that block: the same client and sessions, without `await`.

from offturn.sync import CompactionClient

with CompactionClient.from_url("redis://localhost:6379/0") as client:
    session = client.session("telegram:42", format="openai-chat", window=200_000)
    session.record([question])
    view = session.view()

All of it runs on one event loop in a thread of its own, which starts with the first client and ends with the process;
there is no second implementation: every method takes, returns and raises what that of `offturn` does, within the same
deadline. Any thread may call any of it. A client that is still open at the end of the process is closed then. After a
fork open a client in the child: one of the parent's raises Closed there.
`origin` and `attachments` functions run on that thread: they must not call these methods, and all calls wait while one of
them blocks (an async `attachments` function does not). A sink of `on_generation` has a thread of its own.
"""

from offturn.sync.client import CompactionClient, Sink, WriteBack
from offturn.sync.session import RecallTool, Recorded, Session, Ticket

__all__ = ["CompactionClient", "RecallTool", "Recorded", "Session", "Sink", "Ticket", "WriteBack"]
