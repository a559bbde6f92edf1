"""Killing a worker process: which one, and what is said when there is none. The demo itself kills a real one."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
import trio

from interlock.demo.server import Server
from interlock.demo.strike import READY_S, Striker, Worker, worker_of
from interlock.errors import WorldError


class Books:
    """A server of which there are only its books, one after the other; the last stays."""

    def __init__(self, *told: dict[str, Any]) -> None:
        self._told = [{"workers": [{"stage": "voice", **one}]} for one in told]

    async def books(self) -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        return self._told.pop(0) if len(self._told) > 1 else self._told[0]


def striker(*told: dict[str, Any]) -> Striker:
    return Striker(cast(Server, Books(*told)), "voice")


def worker(pid: int | None, incarnation: int = 1, state: str = "READY") -> dict[str, Any]:
    return {"pid": pid, "incarnation": incarnation, "state": state}


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started


async def test_a_real_process_is_killed_and_the_next_one_is_waited_for(process: subprocess.Popen[bytes]) -> None:
    made = striker(worker(process.pid), worker(None, 1, "BACKING_OFF"), worker(7, 2, "STARTING"), worker(7, 2))
    killed = await made.kill()
    assert process.wait(10) == -signal.SIGKILL
    assert killed == made.before == Worker("voice", "READY", 1, process.pid)
    assert await made.until_ready() == made.after == Worker("voice", "READY", 2, 7)


async def test_a_worker_that_does_not_come_back_is_said() -> None:
    made = striker(worker(7, 1, "STARTING"))
    made.before = Worker("voice", "READY", 1, 7)
    with pytest.raises(WorldError, match=f"not ready again within {READY_S:g} s"):
        await made.until_ready()


@pytest.mark.parametrize(
    ("told", "says"), [(worker(None), "only a process can be killed"), (worker(2**22 + 1), "was gone")]
)
async def test_what_cannot_be_killed_is_said(told: dict[str, Any], says: str) -> None:
    with pytest.raises(WorldError, match=says):
        await striker(told).kill()


@pytest.mark.parametrize("books", [{}, {"workers": [{"stage": "ears"}]}])
def test_a_server_without_such_a_worker_is_said(books: dict[str, Sequence[Any]]) -> None:
    with pytest.raises(WorldError, match="names no worker of voice"):
        worker_of(books, "voice")
