"""What an embedding program may do wrong, each as a clear error; and the end, in whichever order it comes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from interlock.embed import Misuse, Runtime
from interlock.errors import ClientError
from interlock.runtime.ports import FleetSink
from interlock.session.settings import Settings
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import ScriptedFleet
from tests.embed.scene import LOUD, Run, Wire, scene, scripted, state

ROOT = Path(__file__).resolve().parents[2]


def made() -> Runtime:
    """Make a runtime that nobody has entered."""
    return Runtime(EchoPipeline(), scripted())


@pytest.mark.real_clock
def test_a_runtime_that_was_not_entered_says_so(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(Misuse, match="enter it, with `async with Runtime"):
            await made().open(Wire())

    run(main)


@pytest.mark.real_clock
def test_calls_after_the_block_say_that_it_was_left(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            session, wire = await play.open()
        runtime = play.runtime
        acts: list[Callable[[], object]] = [
            runtime.stop,
            lambda: session.append(LOUD),
            session.heartbeat,
            session.close,
            lambda: session.ack(1),
        ]
        for act in acts:
            with pytest.raises(Misuse, match="its block was left"):
                act()
        for call in (runtime.open(Wire()), session.wait_closed(), runtime.shutdown(), runtime.wait_ready()):
            with pytest.raises(Misuse, match="its block was left"):
                await call
        with pytest.raises(Misuse, match="entered once"):
            await runtime.enter()
        session.detach()
        assert (runtime.owed(), wire.closings) == ([], [(1012, "server_shutdown")])

    run(main)


@pytest.mark.real_clock
def test_a_runtime_whose_stages_have_failed_says_what_it_was(run: Run) -> None:
    class Broken(ScriptedFleet):
        """A fleet that cannot start."""

        async def run(self, sink: FleetSink) -> None:
            """Fail."""
            raise OSError("no such device")

    async def main() -> None:
        async with Runtime(EchoPipeline(), Broken(EARS, MIND, VOICE)) as runtime:
            await asyncio.wait((runtime.over,))
            with pytest.raises(Misuse, match="it had failed: OSError"):
                await runtime.open(Wire())

    run(main)


@pytest.mark.real_clock
def test_another_thread_or_loop_is_told_where_the_runtime_lives(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            session, wire = await play.open()
            told: list[str] = []

            def elsewhere() -> None:
                acts: list[Callable[[], None]] = [lambda: session.append(LOUD), play.runtime.stop, session.detach]
                for act in acts:
                    with pytest.raises(Misuse, match="from no other loop or thread") as error:
                        act()
                    told.append(str(error.value))
                with pytest.raises(Misuse, match="from no other loop or thread"):
                    asyncio.run(play.runtime.open(Wire()))

            thread = threading.Thread(target=elsewhere)
            thread.start()
            await asyncio.to_thread(thread.join)
            assert len(told) == 3
            assert all("run_coroutine_threadsafe" in text for text in told)
            assert (session.is_attached, wire.types) == (True, ["session.created"])
            future = asyncio.run_coroutine_threadsafe(play.runtime.wait_ready(), asyncio.get_running_loop())
            await asyncio.wrap_future(future)

    run(main)


@pytest.mark.real_clock
def test_a_second_runtime_in_the_same_thread_is_refused_and_the_first_lives_on(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            with pytest.raises(Misuse, match="one Runtime a thread"):
                await made().enter()
            await play.open()

    run(main)


@pytest.mark.real_clock
def test_one_runtime_after_the_other_is_fine(run: Run) -> None:
    async def main() -> None:
        for _ in range(3):
            async with scene() as play:
                await play.open()

    run(main)


@pytest.mark.real_clock
def test_inside_a_trio_program_a_runtime_is_refused() -> None:
    async def main() -> None:
        loop = asyncio.new_event_loop()
        try:
            with pytest.raises(Misuse, match="trio runs in this thread"):
                loop.run_until_complete(made().enter())
        finally:
            loop.close()

    trio.run(main)


@pytest.mark.real_clock
def test_a_loop_that_ends_before_the_block_is_left_shuts_the_runtime_down(run: Run) -> None:
    """``asyncio.run`` cancels what is left: the keeper ends the run in order, and the loop closes after that."""
    runtime, wire = made(), []

    async def main() -> None:
        await runtime.enter()
        wire.append(Wire())
        await runtime.open(wire[0])

    run(main)
    assert (runtime.is_over, runtime.owed(), runtime.host.slots) == (True, [], 0)
    assert wire[0].closings + [(1012, reason) for reason in wire[0].aborts] != []
    run(main_of_the_next)


async def main_of_the_next() -> None:
    """The thread is free for another one."""
    async with scene() as play:
        await play.open()


@pytest.mark.real_clock
def test_a_loop_that_is_closed_under_a_runtime_is_an_error_that_names_the_remedy() -> None:
    """Nobody can end such a run; whoever comes next in this thread is told, and so is the log."""
    program = [sys.executable, "-W", "ignore", "-m", "tests.embed.abandoned"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=50, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    log, calls, next_one = done.stdout.splitlines()
    assert log == "the asyncio loop was closed before its Interlock runtime: sessions were cut off; leave its block"
    assert "this Runtime is closed: its block was left, or its loop was closed" in calls
    assert "leave the block first" in next_one


@pytest.mark.real_clock
def test_a_runtime_that_is_shut_down_inside_its_block_ends_it_cleanly(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            session, wire = await play.spoken()
            await asyncio.gather(play.runtime.shutdown(), play.runtime.shutdown())
            assert (wire.types[-1], wire.closings) == ("session.closed", [(1012, "server_shutdown")])
            assert state(session, "session") == "CLOSED"
            assert (play.runtime.is_over, play.runtime.is_stopping) == (True, True)

    run(main)


@pytest.mark.real_clock
def test_a_stopping_runtime_takes_no_session_and_says_that_it_ends(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            stuck = play.wire(1)
            await play.runtime.open(stuck)
            play.runtime.stop()
            with pytest.raises(ClientError, match="shutting down"):
                await play.runtime.open(play.wire())

    run(main)


@pytest.mark.real_clock
def test_a_shutdown_is_bounded_when_a_stage_hangs_and_a_client_does_not_read(run: Run) -> None:
    async def main() -> None:
        fleet = scripted()
        settings = Settings(shutdown_s=0.3, drain_s=0.1, cleanup_s=0.1)
        began = asyncio.get_running_loop().time()
        async with Runtime(EchoPipeline(), fleet, settings) as runtime:
            await runtime.wait_ready("mind")
            fleet["mind"].script.abort = fleet["mind"].script.submit = "hang"
            wire = Wire(1)
            session = await runtime.open(wire)
            session.append(LOUD)
            session.commit()
        assert asyncio.get_running_loop().time() - began < 2
        assert (runtime.is_over, wire.closings, wire.aborts) == (True, [], ["server_shutdown"])

    run(main)
