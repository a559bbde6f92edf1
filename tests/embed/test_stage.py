"""AsyncStage: engines on the runtime's own loop, well-behaved and not; the five promises hold, and the books are right.

All three stages of the agent are generators here: ears that hear what is committed, an engine in the shape of vLLM's,
and a voice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from examples.tiny_llm import TinyLLM

from interlock.embed import AsyncStage, Runtime, Session
from interlock.embed.inputs import Inputs
from interlock.proof.promises import Witness
from interlock.runtime.driver import Driver
from interlock.runtime.host import open_host
from interlock.session.settings import Settings
from interlock.workers.core import StageSpec, WorkerSettings
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.fleet import StageFleet
from interlock.workers.stage import StageOutput, StageRequest
from tests.embed.scene import LOUD, Run, Wire

Think = Callable[[StageRequest, Inputs], AsyncGenerator[Any, None]]

QUICK = WorkerSettings(stop_s=0.2, heartbeat_s=0.5, restart_s=0.01, max_restarts=50)
FRAME = b"\x01\x00" * 960


async def hear(request: StageRequest, inputs: Inputs) -> AsyncGenerator[StageOutput, None]:
    """Hear ``hello`` in each turn."""
    heard = b""
    async for piece in inputs:
        if piece is not None:
            heard += piece
        elif heard:
            yield StageOutput(request.request_id, "transcript", b"hello", reason="commit")
            heard = b""


async def speak(request: StageRequest, inputs: Inputs) -> AsyncGenerator[bytes, None]:
    """Make a frame for each piece of text."""
    async for piece in inputs:
        if piece is None:
            return
        yield FRAME


@dataclass
class Agent:
    """A runtime whose mind is an engine."""

    runtime: Runtime
    fleet: StageFleet
    wire: Wire
    session: Session

    def ask(self) -> None:
        """End a turn."""
        self.session.append(LOUD)
        self.session.commit()

    async def until(self, holds: Callable[[Driver], bool]) -> None:
        """Return when something holds of the session's driver, or of the engine behind it."""
        async with asyncio.timeout(20):
            while not holds(self.session._driver):  # noqa: ASYNC110 - an engine tells nobody
                await asyncio.sleep(0)

    async def answered(self, count: int = 1) -> list[tuple[str, str]]:
        """Return how so many responses have ended, once they have: status and reason."""
        await self.until(lambda _: self.wire.types.count("response.done") >= count)
        done = [event["response"] for event in self.wire.events if event["type"] == "response.done"]
        return [(each["status"], each.get("status_details", {}).get("reason", "")) for each in done]


def released(driver: Driver) -> bool:
    """Say whether nothing is held for any response: only what listens is left."""
    requests = [cell for (machine, _), cell in driver.value.cells.items() if machine == "request"]
    return not any(cell.data.response_id for cell in requests)


@asynccontextmanager
async def agent(
    think: Think, *, workers: WorkerSettings = QUICK, owed: int = 0, abort: Any = None, check: Any = None, **more: Any
) -> AsyncIterator[Agent]:
    """Run an agent with one session; at its end only so much may be owed."""
    mind = AsyncStage(MIND, think, abort=abort, check_health=check, capacity=more.pop("capacity", 8))
    fleet = StageFleet([AsyncStage(EARS, hear), mind, AsyncStage(VOICE, speak)], workers)
    witness = Witness()
    settings = Settings(**{"shutdown_s": 2.0, "cleanup_s": 0.3, "abort_s": 0.2, "drain_s": 0.5, **more})
    async with Runtime(EchoPipeline(), fleet, settings, record=witness) as runtime:
        await runtime.wait_ready(EARS, MIND, VOICE)
        wire = Wire()
        yield Agent(runtime, fleet, wire, await runtime.open(wire))
        witness.verdict(runtime.host)
    assert len(runtime.owed()) == owed, runtime.owed()
    assert owed or runtime.host.slots == 0
    assert runtime.host.defects == []


def thinking(engine: TinyLLM) -> Think:
    """Wrap an engine as an example does."""

    async def think(request: StageRequest, _: Inputs) -> AsyncGenerator[str, None]:
        async for output in engine.generate(request.params["text"], None, request.request_id):
            yield output.outputs[0].text

    return think


@pytest.mark.real_clock
def test_an_engine_that_streams_tokens_is_spoken_as_it_comes(run: Run) -> None:
    async def main() -> None:
        engine = TinyLLM(step_s=0.001)
        async with agent(thinking(engine), abort=engine.abort, check=engine.check_health) as made:
            made.ask()
            assert await made.answered() == [("completed", "")]
            said = [e["delta"] for e in made.wire.events if e["type"] == "response.output_audio_transcript.delta"]
            assert said == ["You ", "said: ", "hello. "]
            assert made.wire.types.count("response.output_audio.delta") == 3
            assert (engine.running, made.fleet.link(MIND) is not None) == ({}, True)

    run(main)


@pytest.mark.real_clock
def test_a_barge_in_aborts_the_engine_s_request_and_nothing_more_is_said(run: Run) -> None:
    async def main() -> None:
        engine = TinyLLM(step_s=0.05)
        async with agent(thinking(engine), abort=engine.abort) as made:
            made.ask()
            await made.until(lambda driver: bool(engine.running))
            made.session.barge_in()
            assert await made.answered() == [("cancelled", "client_cancelled")]
            await made.until(released)
            assert (engine.running, made.runtime.owed()) == ({}, [])
            made.ask()
            assert await made.answered(2) == [("cancelled", "client_cancelled"), ("completed", "")]

    run(main)


@pytest.mark.real_clock
def test_an_engine_that_does_not_heed_a_cancel_is_owed_until_it_does(run: Run) -> None:
    """Promise 4: its id stays on the books, and the slot is held, until the generator has ended."""

    async def main() -> None:
        gate, entered = asyncio.Event(), asyncio.Event()

        async def think(request: StageRequest, _: Inputs) -> AsyncGenerator[str, None]:
            entered.set()
            while not gate.is_set():
                try:
                    await gate.wait()
                except asyncio.CancelledError:
                    continue
            yield "too late"

        async with agent(think) as made:
            made.ask()
            await entered.wait()
            made.session.close()
            await made.session.wait_closed()
            owed = [entry for entry in made.runtime.owed() if entry["kind"] == "request"]
            assert [(entry["stage"], entry["state"]) for entry in owed] == [(MIND, "OWED")]
            assert made.runtime.host.slots == 1
            gate.set()
            await made.until(lambda driver: driver.value.state("session") == "CLOSED")
            assert (made.runtime.owed(), made.runtime.host.slots) == ([], 0)

    run(main)


@pytest.mark.real_clock
def test_an_engine_that_never_ends_does_not_hold_up_the_shutdown(run: Run) -> None:
    async def main() -> None:
        entered, forever = asyncio.Event(), asyncio.Event()

        async def think(request: StageRequest, _: Inputs) -> AsyncGenerator[str, None]:
            entered.set()
            while True:
                try:
                    await forever.wait()
                    return
                except asyncio.CancelledError:
                    yield ""

        async def stubborn(request: StageRequest, inputs: Inputs) -> AsyncGenerator[str, None]:
            entered.set()
            while not forever.is_set():
                try:
                    await forever.wait()
                except asyncio.CancelledError:
                    continue
            yield ""

        began = asyncio.get_running_loop().time()
        async with agent(stubborn, owed=2, shutdown_s=0.5) as made:
            made.ask()
            await entered.wait()
        assert asyncio.get_running_loop().time() - began < 5
        assert {entry["kind"] for entry in made.runtime.owed()} == {"request", "worker"}
        forever.set()
        entered.clear()
        async with agent(think) as made:
            made.ask()
            await entered.wait()

    run(main)


@pytest.mark.real_clock
def test_tw_12_a_generator_that_yields_in_its_clean_up_costs_no_accounting(run: Run) -> None:
    """ray #64077: "async generator ignored GeneratorExit". Its abort is what confirms, not its luck."""

    async def main() -> None:
        entered, aborted = asyncio.Event(), []

        async def think(request: StageRequest, _: Inputs) -> AsyncGenerator[str, None]:
            try:
                entered.set()
                yield "well, "
                await asyncio.Event().wait()
            finally:
                yield "as I said"

        async def abort(request_id: str) -> None:
            aborted.append(request_id)

        async with agent(think, abort=abort) as made:
            made.ask()
            await entered.wait()
            await made.until(lambda driver: driver.value.journal.head > 5)
            made.session.barge_in()
            assert await made.answered() == [("cancelled", "client_cancelled")]
            await made.until(released)
            assert (len(aborted), made.runtime.owed()) == (1, [])
            assert "as I said" not in str(made.wire.events)

    run(main)


@pytest.mark.real_clock
def test_an_abort_that_fails_is_tried_again_under_the_same_id(run: Run) -> None:
    async def main() -> None:
        engine, tried = TinyLLM(step_s=0.05), []

        async def abort(request_id: str) -> None:
            tried.append(request_id)
            if len(tried) < 3:
                raise ConnectionError("not now")
            await engine.abort(request_id)

        async with agent(thinking(engine), abort=abort) as made:
            made.ask()
            await made.until(lambda driver: bool(engine.running))
            made.session.barge_in()
            await made.answered()
            await made.until(released)
            assert (len(tried), len(set(tried)), made.runtime.owed()) == (3, 1, [])

    run(main)


@pytest.mark.real_clock
def test_what_a_generator_raises_fails_its_own_response_and_no_other(run: Run) -> None:
    async def main() -> None:
        engine = TinyLLM(step_s=0.001)
        fails = [True]

        async def think(request: StageRequest, inputs: Inputs) -> AsyncGenerator[str, None]:
            if fails.pop() if fails else False:
                raise ZeroDivisionError("a bad prompt")
            async for text in thinking(engine)(request, inputs):
                yield text

        async with agent(think) as made:
            made.ask()
            ((status, _),) = await made.answered()
            made.ask()
            assert [status, (await made.answered(2))[1]] == ["failed", ("completed", "")]

    run(main)


@pytest.mark.real_clock
def test_an_engine_that_is_dead_is_a_lost_worker_until_it_is_well(run: Run) -> None:
    async def main() -> None:
        engine = TinyLLM(step_s=0.05)
        async with agent(thinking(engine), abort=engine.abort, check=engine.check_health) as made:
            made.ask()
            await made.until(lambda driver: bool(engine.running))
            engine.dead = RuntimeError("EngineDeadError")
            ((status, _),) = await made.answered()
            assert (status, made.fleet.link(MIND)) == ("failed", None)
            engine.dead = None
            await made.runtime.wait_ready(MIND)
            made.ask()
            assert (await made.answered(2))[1] == ("completed", "")
            assert engine.running == {}

    run(main)


@pytest.mark.real_clock
def test_a_full_engine_refuses_and_the_one_who_asked_is_told(run: Run) -> None:
    async def main() -> None:
        engine = TinyLLM(step_s=0.05)
        async with agent(thinking(engine), abort=engine.abort, capacity=1) as made:
            other_wire = Wire()
            other = await made.runtime.open(other_wire)
            made.ask()
            await made.until(lambda driver: bool(engine.running))
            other.append(LOUD)
            other.commit()
            await made.until(lambda _: "response.done" in other_wire.types)
            assert [e["response"]["status"] for e in other_wire.events if e["type"] == "response.done"] == ["failed"]
            assert await made.answered() == [("completed", "")]

    run(main)


@pytest.mark.real_clock
def test_an_engine_without_an_asyncio_loop_is_an_error_that_names_the_remedy() -> None:
    async def main() -> None:
        async with open_host(EchoPipeline(), StageFleet([AsyncStage(MIND, speak)])) as host:
            await host.wait_stopped()
        (defect,) = host.defects
        assert "an AsyncStage needs an asyncio loop: run it in interlock.embed.Runtime" in defect

    trio.run(main)


@pytest.mark.real_clock
def test_engines_and_models_of_one_fleet_stand_side_by_side(run: Run) -> None:
    async def main() -> None:
        engine = TinyLLM(step_s=0.001)
        stages: list[StageSpec | AsyncStage] = [
            StageSpec(EARS, "tests.workers.agents:Listener", carrier="process"),
            AsyncStage(MIND, thinking(engine), abort=engine.abort),
            AsyncStage(VOICE, speak),
        ]
        async with Runtime(EchoPipeline(), StageFleet(stages, QUICK)) as runtime:
            await runtime.wait_ready(EARS, MIND, VOICE)
            wire = Wire()
            made = Agent(runtime, StageFleet([]), wire, await runtime.open(wire))
            made.ask()
            assert await made.answered() == [("completed", "")]
        assert (runtime.owed(), runtime.host.slots) == ([], 0)

    run(main)
