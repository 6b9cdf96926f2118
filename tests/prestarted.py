"""A process that has imported what `offturn` imports, and becomes it: one fork for each command it is sent.

Most of a short command is the start of Python and the imports, which are the same each time. A command here is a process
of its own, with its own arguments, environment, folder and standard streams; it imports the command line itself, which
looks at them. argv: the number of a socket. To it come a size and four file descriptors, then JSON of that size; to the
last of the four go a process id and, when it has ended, its exit code.
"""

from __future__ import annotations

import gc
import json
import os
import random
import select
import signal
import socket
import sys
from typing import Any

import anthropic  # noqa: F401 -- imported by some commands, as what follows
import genai_prices  # noqa: F401
import jinja2  # noqa: F401
import openai  # noqa: F401

import offturn_worker.app
import offturn_worker.cli
import offturn_worker.doctor.routes
import offturn_worker.doctor.server
from offturn.__main__ import main

NUMBER = 4  # bytes
offturn_worker.doctor.server.SECONDS = offturn_worker.doctor.routes.SECONDS = 15.0  # a busy machine is no silent server


def serve(link: socket.socket) -> int:
    """Until the other side closes; what the command gives, in the process that becomes one."""
    told_by: dict[int, int] = {}
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([link.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 1_000)
            for pid in list(told_by):
                _tell_if_ended(pid, told_by)
        if link.fileno() not in ready:
            continue
        size, given, _, _ = socket.recv_fds(link, NUMBER, 4)
        if not size:
            return 0
        told = json.loads(link.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL))
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (link.detach(), ended, wake, given.pop(), *told_by.values()):
                os.close(fd)
            return become(told, given)
        *streams, told_by[pid] = given
        for fd in streams:
            os.close(fd)
        os.write(told_by[pid], pid.to_bytes(NUMBER, "little", signed=True))


def _tell_if_ended(pid: int, told_by: dict[int, int]) -> None:
    found, status = os.waitpid(pid, os.WNOHANG)
    if found:
        os.write(told_by[pid], os.waitstatus_to_exitcode(status).to_bytes(NUMBER, "little", signed=True))
        os.close(told_by.pop(pid))


def become(told: dict[str, Any], given: list[int]) -> int:
    """`python -m offturn`, with these arguments, variables, folder and streams."""
    for number, fd in enumerate(given):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["variables"])
    sys.argv[1:] = told["arguments"]
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        was = getattr(sys, name)
        setattr(sys, name, open(number, mode, encoding=was.encoding, errors=was.errors, closefd=False))  # noqa: SIM115
    random.seed()
    return main()


if __name__ == "__main__":
    for name in [name for name in sys.modules if name.startswith("offturn_worker.cli")]:
        del sys.modules[name]
    gc.freeze()
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
