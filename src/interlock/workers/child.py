"""The worker process: ``python -m interlock.workers.child STAGE FACTORY ARGS BEAT_S``, as its host starts it.

Orders come on stdin; reports go to what was stdout. Nothing else may write there, so file descriptor 1 is pointed at
stderr before anything of the model is imported: a model that prints, prints to the log.

The process never outlives its host. The end of stdin says that the host is gone, and a thread that does nothing but
read ends the process then and there, whatever the loop hangs in. (``PR_SET_PDEATHSIG`` would not do: Linux sends it
when the *thread* dies that started the process, and that is one of trio's short-lived ones.) Ctrl-C is the host's to
decide on. A host that is stopped with its pipe full stops its workers, and loses nothing.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

from interlock.errors import WorldError
from interlock.workers.core import StageSpec
from interlock.workers.factory import make_model
from interlock.workers.inbox import Inbox
from interlock.workers.loop import StageLoop, serve
from interlock.workers.protocol import VERSION, Cutter, Hello, Order, Report, decode_order, encode

CHUNK = 64 * 1024

INBOX_BYTES = 8 * 1024 * 1024
"""Orders that the loop has not taken yet. Past it nobody reads: the pipe fills, and then the outbox of the host."""

LOOK_S = 0.25
"""How often a reader that waits for room looks whether its host is gone."""

HOST_GONE, HOST_WRONG, MODEL_BROKEN = 3, 4, 5
"""Exit codes: the host has left, does not speak the protocol, or the model cannot go on."""

log = logging.getLogger("interlock.workers.child")


def main(argv: Sequence[str]) -> int:
    """Serve one model to one host, until it says stop; return the exit code."""
    stage, factory, args, beat_s = argv
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wire = _claim_stdout()
    try:
        send(wire, Hello(VERSION, stage, os.getpid()))
        orders = Inbox(INBOX_BYTES)
        threading.Thread(target=_read, args=(orders,), name="orders", daemon=True).start()
        model = make_model(StageSpec(stage, factory, json.loads(args)))
        serve(StageLoop(model, lambda report: send(wire, report), float(beat_s)), orders.take, time.monotonic)
    except BrokenPipeError:
        return HOST_GONE
    except WorldError as wrong:
        log.error("worker %s ends: %s", stage, wrong)
        return MODEL_BROKEN
    return 0


def send(wire: int, report: Report) -> None:
    """Write one whole frame. Blocks while the host does not read. Raises :class:`BrokenPipeError`."""
    left = memoryview(encode(report))
    while left:
        left = left[os.write(wire, left) :]


def _claim_stdout() -> int:
    wire = os.dup(1)
    os.dup2(2, 1)
    return wire


def _read(orders: Inbox) -> None:
    cutter = Cutter()
    try:
        while data := os.read(0, CHUNK):
            for body in cutter.feed(data):
                _put(orders, decode_order(body), len(body))
    except WorldError as wrong:
        log.error("the host sent what is not an order: %s", wrong)
        _leave(HOST_WRONG)
    _leave(HOST_GONE)


def _put(orders: Inbox, order: Order, size: int) -> None:
    """Queue an order, when there is room. While there is none, nobody reads, so that somebody must look for the end."""
    while not orders.put(order, size, LOOK_S):
        if _host_is_gone():
            _leave(HOST_GONE)


def _host_is_gone() -> bool:
    """Whether the other end of stdin is closed, whatever is still in the pipe."""
    poll = select.poll()
    poll.register(0, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _leave(code: int) -> NoReturn:
    """End the process from any thread, at once: nobody is left who could want a clean end."""
    logging.shutdown()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
