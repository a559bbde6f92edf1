"""The worker process, by itself: how it ends, and that nothing but frames leaves it by the pipe."""

from __future__ import annotations

import os
import subprocess
import sys

from interlock.runtime.ports import Accepted, Consumed, Finished, Output
from interlock.workers.child import HOST_GONE, HOST_WRONG, MODEL_BROKEN
from interlock.workers.protocol import (
    VERSION,
    Append,
    Beat,
    Cutter,
    Finish,
    Hello,
    Order,
    Ready,
    Report,
    Stop,
    Submit,
    decode_report,
    encode,
)

ENV = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _run(factory: str, said: bytes) -> tuple[int, list[Report], str]:
    """Start a worker, say all at once, close its stdin, and return its exit code, its reports, and its stderr."""
    command = [sys.executable, "-m", "interlock.workers.child", "think", f"tests.workers.models:{factory}", "{}", "60"]
    ended = subprocess.run(command, input=said, capture_output=True, env=ENV, check=False)
    reports = [decode_report(body) for body in Cutter().feed(ended.stdout)]
    return ended.returncode, [r for r in reports if not isinstance(r, Hello | Beat)], ended.stderr.decode()


def _frames(*orders: Order) -> bytes:
    return b"".join(map(encode, orders))


def _serve(factory: str, *orders: Order) -> tuple[int, list[Report], str]:
    """Start a worker, say hello, hand it orders, and wait for its end before its stdin is closed."""
    command = [sys.executable, "-m", "interlock.workers.child", "think", f"tests.workers.models:{factory}", "{}", "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENV) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(_frames(*orders))
        child.stdin.flush()
        reports = [decode_report(body) for body in Cutter().feed(child.stdout.read())]
        assert reports[0] == Hello(VERSION, "think", child.pid)
        return child.wait(), reports[1:], child.stderr.read().decode()


def test_a_worker_that_is_told_to_stop_ends_well() -> None:
    code, reports, _ = _serve("counting", Submit("r1", 1), Append("r1", b"abc"), Finish("r1"), Stop())
    assert reports == [Ready(), Accepted("r1"), Consumed("r1", 3), Output("r1", 1, "text", b"3"), Finished("r1")]
    assert code == 0


def test_whatever_a_model_prints_goes_to_the_log_and_not_into_the_pipe() -> None:
    code, reports, log = _serve("noisy", Submit("r1", 1), Append("r1", b"a line\n"), Finish("r1"), Stop())
    assert reports == [Ready(), Accepted("r1"), Consumed("r1", 7), Output("r1", 1, "text", b"7"), Finished("r1")]
    assert code == 0
    for printed in ("loading", "from C, as it were", "from a child", "a line"):
        assert printed in log


def test_a_model_that_cannot_be_made_ends_the_worker_and_says_why() -> None:
    code, reports, log = _serve("impossible")
    assert (code, reports) == (MODEL_BROKEN, [])
    assert "RuntimeError: the weights are not there" in log


def test_a_factory_that_does_not_exist_ends_the_worker_and_says_why() -> None:
    code, _, log = _serve("absent")
    assert code == MODEL_BROKEN
    assert "no model 'tests.workers.models:absent'" in log


def test_a_worker_whose_host_is_gone_ends_even_while_its_model_hangs() -> None:
    assert _run("endless", b"")[:2] == (HOST_GONE, [])


def test_a_worker_that_is_told_garbage_ends() -> None:
    code, _, log = _run("endless", b"GET / HTTP/1.1")
    assert code == HOST_WRONG
    assert "the host sent what is not an order: a frame of 1195725856 bytes" in log


def test_a_worker_that_hangs_with_its_inbox_full_still_ends_with_its_host() -> None:
    """The reader waits for room, so that it cannot read the end of stdin; it looks for it instead."""
    command = [sys.executable, "-m", "interlock.workers.child", "think", "tests.workers.models:counting", "{}", "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=ENV) as child:
        assert child.stdin is not None
        megabyte = Append("r1", bytes(1024 * 1024))
        child.stdin.write(_frames(Submit("r1", 1, {"hangs": ["open"]}), *[megabyte] * 8, Append("r1", bytes(50_000))))
        child.stdin.close()
        assert child.wait(30) == HOST_GONE
