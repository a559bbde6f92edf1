"""What only a process can do: be killed, be stopped, speak garbage, and outlive its host, which it must not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio
import trio.testing

from interlock.runtime.ports import Accepted
from interlock.workers.core import StageSpec, WorkerSettings
from interlock.workers.fleet import StageFleet
from interlock.workers.link import CarrierLink
from interlock.workers.process import Outbox, ProcessCarrier
from interlock.workers.protocol import VERSION, Hello, Ready, encode
from tests.workers.recorder import Recorder

pytestmark = pytest.mark.real_clock

QUICK = WorkerSettings(stop_s=2.0, heartbeat_s=30.0, restart_s=0.01, max_restarts=2)
ONCE = QUICK.model_copy(update={"max_restarts": 0})


def _fleet(settings: WorkerSettings = QUICK, factory: str = "counting", **args: object) -> StageFleet:
    return StageFleet([StageSpec("think", f"tests.workers.models:{factory}", args)], settings)


async def _ready(fleet: StageFleet, sink: Recorder, incarnation: int = 1) -> tuple[CarrierLink, int]:
    await sink.until_told(("ready", "think", incarnation))
    link = fleet.link("think")
    assert link is not None
    assert isinstance(link.carrier, ProcessCarrier)
    assert link.carrier.pid is not None
    return link, link.carrier.pid


async def _ended(pid: int) -> None:
    """Wait for the end of a process that need not be our child."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await trio.lowlevel.wait_readable(handle)
    finally:
        os.close(handle)


SUCCESSION = [("ready", "think", 1), ("lost", "think", 1), ("gone", "think", 1), ("ready", "think", 2)]


async def test_a_killed_worker_is_lost_then_gone_then_replaced(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(), Recorder()
    nursery.start_soon(fleet.run, sink)
    link, pid = await _ready(fleet, sink)
    link.submit("r1", 1, {})
    await sink.until_replied([Accepted("r1")])
    os.kill(pid, signal.SIGKILL)
    successor, _ = await _ready(fleet, sink, incarnation=2)
    assert sink.told == SUCCESSION
    assert (link.incarnation, successor.incarnation) == (1, 2)


async def test_a_stopped_worker_misses_its_heartbeat_is_killed_and_replaced(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(QUICK.model_copy(update={"heartbeat_s": 0.5})), Recorder()
    nursery.start_soon(fleet.run, sink)
    _, pid = await _ready(fleet, sink)
    os.kill(pid, signal.SIGSTOP)
    await sink.until_told(("ready", "think", 2))
    assert sink.told == SUCCESSION
    await _ended(pid)


async def test_a_hung_worker_misses_its_heartbeat_is_killed_and_replaced(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(QUICK.model_copy(update={"heartbeat_s": 0.5})), Recorder()
    nursery.start_soon(fleet.run, sink)
    link, _ = await _ready(fleet, sink)
    link.submit("r1", 1, {"hangs": ["open"]})
    await sink.until_told(("ready", "think", 2))
    assert sink.told == SUCCESSION
    assert sink.replies == []


async def test_a_worker_that_loads_for_too_long_is_killed(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(ONCE.model_copy(update={"start_s": 0.3}), "endless"), Recorder()
    await fleet.run(sink)
    assert sink.told == [("lost", "think", 1), ("gone", "think", 1)]


async def test_more_orders_than_the_outbox_holds_lose_the_link(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(QUICK.model_copy(update={"outbox_bytes": 1_000_000})), Recorder()
    nursery.start_soon(fleet.run, sink)
    link, pid = await _ready(fleet, sink)
    os.kill(pid, signal.SIGSTOP)
    for _ in range(20):
        link.append("r1", bytes(100_000))
    assert sink.told == SUCCESSION[:2]
    await sink.until_told(*SUCCESSION)
    await _ended(pid)


async def test_a_cancel_while_a_write_blocks_kills_the_worker_rather_than_cut_the_write() -> None:
    fleet, sink = _fleet(), Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fleet.run, sink)
        link, pid = await _ready(fleet, sink)
        os.kill(pid, signal.SIGSTOP)
        link.append("r1", bytes(1_000_000))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert fleet.owed() == []
    await _ended(pid)


class Trickle(trio.abc.SendStream):
    """A pipe that takes ten bytes at a time, and can be cancelled between them."""

    def __init__(self) -> None:
        self.taken = bytearray()
        self.begun = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        for start in range(0, len(data), 10):
            await trio.lowlevel.checkpoint()
            self.taken += data[start : start + 10]
            self.begun.set()

    async def wait_send_all_might_not_block(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


async def test_a_frame_that_is_being_written_is_written_whole_whatever_is_cancelled() -> None:
    outbox, pipe = Outbox(1_000), Trickle()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.write_to, pipe)
        outbox.put(bytes(200))
        await pipe.begun.wait()
        nursery.cancel_scope.cancel()
    assert pipe.taken == bytes(200)


async def test_a_worker_leaves_nothing_that_its_model_has_started(tmp_path: Path) -> None:
    fleet, sink = _fleet(factory="breeding", path=str(tmp_path / "pid")), Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fleet.run, sink)
        await _ready(fleet, sink)
        nursery.cancel_scope.cancel()
    await _ended(int((tmp_path / "pid").read_text()))


async def test_an_interrupt_from_the_terminal_is_not_the_workers_to_decide_on(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(), Recorder()
    nursery.start_soon(fleet.run, sink)
    link, pid = await _ready(fleet, sink)
    os.kill(pid, signal.SIGINT)
    link.submit("r1", 1, {})
    await sink.until_replied([Accepted("r1")])
    assert os.getpgid(pid) != os.getpgid(0)


def _speaks(*frames: bytes | bytearray, then: str = "signal.pause()") -> list[str]:
    said = b"".join(frames)
    return [sys.executable, "-c", f"import os, signal, sys; os.write(1, {said!r}); {then}"]


HELLO, READY = encode(Hello(VERSION, "think", 1)), encode(Ready())

IMPOSTORS = {
    "text": _speaks(b"Loading weights: 100%\n"),
    "no message": _speaks((3).to_bytes(4, "big") + b"abc"),
    "an endless frame": _speaks(b"\xff\xff\xff\xff"),
    "another version": _speaks(encode(Hello(VERSION + 1, "think", 1)), READY),
    "another stage": _speaks(encode(Hello(VERSION, "speak", 1)), READY),
    "no hello": _speaks(READY),
    "an answer before it is ready": _speaks(HELLO, encode(Accepted("r1"))),
    "half a frame": _speaks(HELLO[:-1], then="os.close(1); signal.pause()"),
    "nothing, for ever": _speaks(then="os.close(1); signal.pause()"),
    "nothing, and goes": _speaks(then="sys.exit(0)"),
    "nothing, for there is none": ["/nonexistent/worker"],
}


@pytest.mark.parametrize("impostor", IMPOSTORS.values(), ids=IMPOSTORS.keys())
async def test_a_worker_that_does_not_speak_the_protocol_is_killed(
    impostor: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessCarrier, "_command", lambda _: impostor)
    fleet, sink = _fleet(ONCE), Recorder()
    await fleet.run(sink)
    assert sink.log == [("lost", "think", 1), ("gone", "think", 1)]


VERBOSE = f"""
import fcntl, os
from interlock.runtime.ports import Accepted
from interlock.workers.protocol import encode
fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ: all that follows has room in the pipe at once
said = b"".join(encode(Accepted(f"r{{number}}")) for number in range(12_000))
os.write(1, {HELLO + READY!r})
assert os.write(1, said) == len(said)
"""


class Busy(Recorder):
    """A host that looks away from the moment its worker is ready until that has ended."""

    fleet: StageFleet

    def worker_ready(self, stage: str, incarnation: int) -> None:
        super().worker_ready(stage, incarnation)
        link = self.fleet.link(stage)
        assert link is not None
        assert isinstance(link.carrier, ProcessCarrier)
        os.waitid(os.P_PID, link.carrier.pid or 0, os.WEXITED | os.WNOWAIT)


async def test_the_last_words_of_a_worker_are_told_before_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessCarrier, "_command", lambda _: [sys.executable, "-c", VERBOSE])
    sink = Busy()
    sink.fleet = _fleet(ONCE)
    await sink.fleet.run(sink)
    assert sink.log == [
        ("ready", "think", 1),
        *(Accepted(f"r{number}") for number in range(12_000)),
        ("lost", "think", 1),
        ("gone", "think", 1),
    ]


class Silent:
    """Ears that only count."""

    def __init__(self) -> None:
        self.lost_for: list[str] = []
        self.heard_it = trio.Event()

    def ready(self) -> None:
        raise AssertionError("it was killed before it could be ready")

    def heard(self, held: Mapping[str, int]) -> None:
        self.heard_it.set()

    def reply(self, *replies: object) -> None: ...

    def lost(self, reason: str) -> None:
        self.lost_for.append(reason)


async def test_a_kill_before_there_is_a_process_ends_it_when_there_is() -> None:
    carrier, ears = ProcessCarrier(StageSpec("think", "tests.workers.models:endless"), QUICK), Silent()
    carrier.kill()
    await carrier.run(ears)
    carrier.kill()
    assert ears.lost_for == ["the pipe has ended"]


async def test_a_cancelled_carrier_leaves_no_process() -> None:
    carrier, ears = ProcessCarrier(StageSpec("think", "tests.workers.models:endless"), QUICK), Silent()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(carrier.run, ears)
        await ears.heard_it.wait()
        pid = carrier.pid
        nursery.cancel_scope.cancel()
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


HOST = """
import sys, trio
from interlock.workers.core import StageSpec
from interlock.workers.fleet import StageFleet

class Host:
    def worker_ready(self, stage, incarnation):
        link = fleet.link(stage)
        link.submit("r1", 1, {"hangs": sys.argv[1:]})
        sys.stdout.write(f"{link.carrier.pid}\\n")
        sys.stdout.flush()
    def reply(self, *told): pass
    worker_lost = worker_gone = reply

fleet = StageFleet([StageSpec("think", "tests.workers.models:counting")])
trio.run(fleet.run, Host())
"""


@pytest.mark.parametrize("hangs", [[], ["open"]], ids=["idle", "hung"])
async def test_a_worker_does_not_outlive_a_host_that_is_killed(hangs: list[str]) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    host = await trio.lowlevel.open_process([sys.executable, "-c", HOST, *hangs], stdout=subprocess.PIPE, env=env)
    assert host.stdout is not None
    pid = int(await host.stdout.receive_some())
    host.kill()
    await host.wait()
    await _ended(pid)
    await host.stdout.aclose()
