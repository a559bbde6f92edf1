"""A real host over real worker processes, with the oracle of the five promises as its recorder."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from interlock.proof.promises import Witness
from interlock.runtime.driver import Driver
from interlock.runtime.host import Host, open_host
from interlock.runtime.ledger import books_of
from interlock.runtime.talk import Session
from interlock.session.settings import Settings
from interlock.transport.memory import MemoryTransport
from interlock.workers.core import StageSpec, WorkerSettings
from interlock.workers.fleet import StageFleet

LOUD = b"\x01\x00" * 160
EARS, MIND = "ears", "mind"
QUICK = WorkerSettings(start_s=30.0, stop_s=2.0, heartbeat_s=5.0, restart_s=0.01, max_restarts=3)
HELD = ("owed", "slots", "requests", "journal_bytes", "input_bytes", "sessions")


class Agent:
    """Implements Pipeline. What a session's configuration has under ``mind`` goes to the stage, for its first turn."""

    listen = EARS
    answer = (MIND,)

    def check(self, config: Mapping[str, Any]) -> None:
        """Take anything."""

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """There is nothing to prepare."""

    def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
        return dict(config.get("mind", {})) if stage == MIND else {}


class Client:
    """One session, attached to a transport in memory."""

    def __init__(self, session: Session, transport: MemoryTransport) -> None:
        self.session = session
        self.transport = transport

    @property
    def driver(self) -> Driver:
        return self.session._driver

    def ask(self, **mind: Any) -> None:
        """Say something, to be answered as ``mind`` says."""
        self.session.update({"mind": mind})
        self.session.append(LOUD)
        self.session.commit()

    async def is_in(self, state: str) -> None:
        """Return when this session has a request of the mind in such a state."""
        await self.driver.room.wait_for(lambda: state in self.states())

    def states(self) -> list[str]:
        return [
            cell.state
            for (machine, _), cell in self.driver.value.cells.items()
            if machine == "request" and cell.data.stage == MIND
        ]

    @property
    def ends(self) -> list[dict[str, Any]]:
        """The ends of all responses so far."""
        return [event for event in self.transport.events if event["type"] == "response.done"]

    async def ended(self, count: int = 1) -> tuple[str, str]:
        """Return how the last of so many responses ended: status and reason."""
        while len(self.ends) < count:
            await self.transport._changed.wait()
        last = self.ends[count - 1]
        return last["response"]["status"], str(last.get("reason", ""))

    def said(self, count: int = 1) -> str:
        """The text of one response."""
        response_id = [e for e in self.transport.events if e["type"] == "response.created"][count - 1]["response"]["id"]
        deltas = [e for e in self.transport.events if e["type"] == "response.output_audio_transcript.delta"]
        return "".join(e["delta"] for e in deltas if e["response_id"] == response_id)


class World:
    """The host, its fleet, and its clients."""

    def __init__(self, host: Host, fleet: StageFleet) -> None:
        self.host = host
        self.fleet = fleet
        self.clients: list[Client] = []

    async def open(self, count: int = 1) -> list[Client]:
        """Open sessions."""
        opened = []
        for _ in range(count):
            transport = MemoryTransport()
            opened.append(Client(await self.host.open(transport, {}), transport))
        self.clients += opened
        return opened

    def worker(self) -> Mapping[str, Any]:
        """Return the mind's worker, as an operator sees it."""
        return next(each for each in self.fleet.workers() if each["stage"] == MIND)

    def strike(self, number: signal.Signals) -> None:
        """Send a signal to the mind's worker."""
        os.kill(self.worker()["pid"], number)

    async def close(self) -> None:
        """End every session; return when nothing is held."""
        for client in self.clients:
            client.session.close()
        for client in self.clients:
            await client.session.wait_closed()
        await self.host.room.wait_for(lambda: not self.host.drivers)
        assert {name: count for name in HELD if (count := books_of(self.host)[name])} == {}


@asynccontextmanager
async def world(
    model: str = "tests.workers.agents:Talker",
    workers: WorkerSettings = QUICK,
    *,
    ready: bool = True,
    args: Mapping[str, Any] | None = None,
    limit_s: float = 45,
    **settings: Any,
) -> AsyncIterator[World]:
    """Run a world; when it is over, every promise was kept, every session has ended, and nothing is held."""
    ears = StageSpec(EARS, "tests.workers.agents:Listener", carrier="thread")
    fleet = StageFleet([ears, StageSpec(MIND, model, args or {})], workers)
    witness = Witness()
    async with open_host(Agent(), fleet, Settings(**settings), witness) as host:
        await host.wait_ready(EARS, *([MIND] if ready else []))
        made = World(host, fleet)
        with trio.fail_after(limit_s):
            yield made
            await made.close()
        witness.verdict(host)
    assert witness.decisions > 0
    assert host.owed() == []
    assert host.defects == []
    assert fleet.owed() == []
