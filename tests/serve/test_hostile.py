"""Hostile input over real sockets: no crash, no traceback, no leak, no stuck session, and nobody else notices."""

from __future__ import annotations

import gc
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.errors import ClientError
from interlock.runtime.driver import Driver
from interlock.runtime.ledger import books_of
from interlock.runtime.ports import TransportClosed
from interlock.transport import arrival, commands
from interlock.transport.limits import SocketLimits
from interlock.wire import inbound
from tests.faults.door import Door, alive, door
from tests.serve.hostile import MESSAGES, mutated
from tests.serve.wire import Wire

pytestmark = [pytest.mark.slow, pytest.mark.timeout_s(120)]

SLICE = 20
"""Messages in one write."""
A_RUN = 80
PATHS = ("/v1/duplex", "/v1/realtime")
QUIET = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
GIVEN_BACK = ("slots", "sessions", "requests", "journal_bytes", "input_bytes", "timers")


class Alarm(logging.Handler):
    """Hears every error that the server logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


@contextmanager
def no_error_logged() -> Iterator[None]:
    alarm, log = Alarm(), logging.getLogger()
    log.addHandler(alarm)
    try:
        yield
    finally:
        log.removeHandler(alarm)
    assert alarm.heard == []


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count what the server parses, by what came of it."""
    heard: Counter[str] = Counter()

    def parse(data: bytes, limit: int) -> Any:
        try:
            message = inbound.parse(data, limit)
        except ClientError as error:
            heard[error.code] += 1
            raise
        heard[type(message).__name__] += 1
        return message

    with patch.object(arrival, "parse", parse), patch.object(commands, "parse", parse):
        yield heard


async def read_all(wire: Wire) -> None:
    """Read to the end; whatever comes is an event."""
    while (event := await wire.next()) is not None:
        assert isinstance(event["type"], str)
        if event["type"] == "error":
            assert event["error"]["code"] not in ("", "internal_error")
    await wire.transport.finish()


async def say(wire: Wire, messages: Sequence[bytes]) -> None:
    """Send as much as the server takes, and leave; return when the connection has ended."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wire.transport.keep)
        nursery.start_soon(read_all, wire)
        try:
            for start in range(0, len(messages), SLICE):
                await wire.transport.send(messages[start : start + SLICE])
            await wire.transport.close(1000, "")
        except TransportClosed:
            return


async def say_all(served: Door, messages: Sequence[bytes], path: str, heard: Counter[str]) -> None:
    """Send everything, on as many connections as it takes. What no connection gets through is left out."""
    url, before, done = served.url.replace("/v1/duplex", path), sum(heard.values()), 0
    while done < len(messages):
        wire = await served.dial(url=url)
        await say(wire, messages[done:])
        now = sum(heard.values()) - before
        if now == done:
            before -= 1
        done = max(now, done + 1)
        wire.tear()
        served.wires.remove(wire)


async def attack(messages: Sequence[bytes], path: str, heard: Counter[str]) -> None:
    """Let one client send it all beside another, and see that everything is given back."""
    limits = SocketLimits(frame_bytes=100_000, close_s=0.5)
    small: dict[str, Any] = {"max_requests": 6, "max_turns": 2, "max_notices": 8, "first_s": 1.0, "farewell_s": 0.05}
    async with door(limits=limits, grace_s=0.05, max_sessions=4, **small) as served:
        bystander, *_ = await served.open()
        before = books_of(served.host)
        await say_all(served, messages, path, heard)
        with trio.fail_after(10):
            await alive(bystander)
            await served.until(lambda host: len(host.drivers) == 1)
            after = books_of(served.host)
        assert {name: after[name] for name in GIVEN_BACK} == {name: before[name] for name in GIVEN_BACK}
        await bystander.say("session.close")
        assert (await bystander.to_the_end())[-1]["type"] == "session.closed"


def run(messages: Sequence[bytes], path: str) -> None:
    """Attack, and have nearly everything heard: some is no WebSocket text, and ends its connection unheard."""
    with no_error_logged(), counted() as heard:
        trio.run(attack, messages, path, heard)
    assert sum(heard.values()) > 0.9 * len(messages)


def sessions_in_memory() -> set[str]:
    """Return the sessions that somebody still has, other tests too. Slow: it looks at every object that there is."""
    gc.collect()
    return {each.session_id for each in gc.get_objects() if type(each) is Driver}


@given(st.lists(MESSAGES, min_size=A_RUN, max_size=A_RUN), st.sampled_from(PATHS))
@settings(QUIET, max_examples=25)
def test_messages_of_the_schema_and_of_none(messages: list[bytes], path: str) -> None:
    run(messages, path)


@pytest.mark.gate
@pytest.mark.timeout_s(3600)
@given(st.lists(MESSAGES, min_size=A_RUN, max_size=A_RUN), st.sampled_from(PATHS))
@settings(QUIET, max_examples=50_000 // A_RUN)
def test_50000_messages_of_the_schema_and_of_none(messages: list[bytes], path: str) -> None:
    run(messages, path)


@pytest.mark.parametrize("path", PATHS)
def test_mutated_recordings(path: str) -> None:
    before = sessions_in_memory()
    run(mutated(seed=1, count=1500), path)
    assert sessions_in_memory() <= before


@pytest.mark.gate
@pytest.mark.timeout_s(3600)
@pytest.mark.parametrize("seed", range(50))
def test_50000_messages_of_mutated_recordings(seed: int) -> None:
    before = sessions_in_memory()
    run(mutated(seed, count=1000), PATHS[seed % 2])
    assert sessions_in_memory() <= before


def test_the_mutations_are_what_they_are_called() -> None:
    made = mutated(seed=7, count=400)
    assert made == mutated(seed=7, count=400)
    assert len(set(made)) > 150
    bad = 0
    for data in made:
        try:
            json.loads(data)
        except ValueError:
            bad += 1
    assert 50 < bad < 350
