"""Where the cancel of an asyncio task lands: the four canonical cases, and asyncio's own ways to cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NoReturn

import pytest

from interlock.embed import Session
from interlock.errors import ClientError
from interlock.workers.echo import MIND
from tests.embed.scene import LOUD, Run, Scene, Wire, claims, scene, state


@pytest.mark.real_clock
@pytest.mark.parametrize("takeover", [True, False], ids=["takeover", "reconnect"])
@pytest.mark.parametrize(("accepts", "phase"), [(0, "ACTIVATING"), (1, "REPLAYING")])
def test_at_01_a_claim_that_is_cancelled_three_times_has_landed_at_the_line_after(
    run: Run, takeover: bool, accepts: int, phase: str
) -> None:
    """vllm-omni #7413 and #8200: nothing is attached, nothing is owed, and the presented token is still good."""

    async def main() -> None:
        async with scene() as play:
            session, first = await play.spoken()
            everything = [frame.seq for frame in session._driver.frames.live]
            session_id, token, _ = first.credentials
            if not takeover:
                session.detach()
            for _ in range(5):
                cut = play.wire(accepts)
                task = await stalled(play, cut, session_id, token)
                assert state(session, "attachment") == phase
                task.cancel()
                assert (state(session, "attachment"), claims(play, cut)) == ("ROLLED_BACK", False)
                task.cancel()
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert (state(session, "attachment"), state(session, "lease")) == ("ROLLED_BACK", "GRACE")
                assert not claims(play, cut)
                assert (cut.closings, cut.aborts) == ([], ["cancelled"])
            await first.over.wait()
            await asyncio.sleep(0)
            assert ("session.replaced" in first.types) is takeover
            assert play.runtime.owed() == []
            again = play.wire()
            await play.runtime.resume(session_id, token, 0, again)
            assert again.numbers == everything

    run(main)


def at_the_outcome(session: Session, do: Callable[[], object]) -> None:
    """Do something when a claim has its outcome, before the task that waits for it runs."""
    (offer,) = session._driver.offers.values()
    told = offer.waiter._wake
    assert told is not None

    def both() -> None:
        told()
        do()

    offer.waiter.tell(both)


async def stalled(play: Scene, wire: Wire, session_id: str, token: str) -> asyncio.Task[object]:
    """Resume on a wire that stalls, and return the task that waits for it."""
    task = asyncio.ensure_future(play.runtime.resume(session_id, token, 0, wire))
    await wire.stalled.wait()
    return task


@pytest.mark.real_clock
def test_an_open_that_is_cancelled_before_its_credentials_are_out_ends_the_session(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            cut = play.wire(0)
            task = asyncio.ensure_future(play.runtime.open(cut))
            await cut.stalled.wait()
            assert play.runtime.host.slots == 1
            task.cancel()
            assert (play.runtime.host.slots, cut.aborts) == (0, ["cancelled"])
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main)


@pytest.mark.real_clock
def test_a_cancel_between_the_outcome_and_the_task_gives_the_attachment_back(run: Run) -> None:
    """Asyncio throws the outcome away: nobody holds the session, so nobody is attached, and its client may resume."""

    async def main() -> None:
        async with scene() as play:
            session, first = await play.spoken()
            session_id, token, _ = first.credentials
            session.detach()
            wire = play.wire()
            task = asyncio.ensure_future(play.runtime.resume(session_id, token, 0, wire))
            await asyncio.sleep(0)
            at_the_outcome(session, task.cancel)
            await asyncio.wait({task})
            assert task.cancelled()
            assert (state(session, "attachment"), state(session, "lease")) == ("DETACHED", "GRACE")
            assert (claims(play, wire), wire.aborts) == (False, ["cancelled"])
            await play.runtime.resume(session_id, token, 0, play.wire())

    run(main)


@pytest.mark.real_clock
def test_a_timeout_around_a_call_is_a_timeout(run: Run) -> None:
    """pytransitions #704: a timeout around a trigger disappeared, and the lines behind it ran."""

    async def main() -> None:
        async with scene() as play:
            session, first = await play.spoken()
            session_id, token, _ = first.credentials
            behind = timed_out = False
            try:
                async with asyncio.timeout(0.02):
                    await play.runtime.resume(session_id, token, 0, play.wire(1))
                    behind = True
            except TimeoutError:
                timed_out = True
            assert timed_out
            assert not behind
            assert state(session, "attachment") == "ROLLED_BACK"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.wait_closed(), 0.02)
            assert state(session, "session") == "OPEN"
            current = asyncio.current_task()
            assert current is not None
            assert current.cancelling() == 0

    run(main)


@pytest.mark.real_clock
def test_a_task_group_whose_sibling_fails_takes_the_claim_with_it(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            session, first = await play.spoken()
            session_id, token, _ = first.credentials
            cut, failed = play.wire(1), False

            async def fail() -> None:
                await cut.stalled.wait()
                raise KeyError("sibling")

            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(play.runtime.resume(session_id, token, 0, cut))
                    group.create_task(fail())
            except* KeyError:
                failed = True
            assert failed
            assert (state(session, "attachment"), claims(play, cut)) == ("ROLLED_BACK", False)
            await first.over.wait()
            await asyncio.sleep(0)
            assert play.runtime.owed() == []

    run(main)


@pytest.mark.real_clock
def test_waits_that_are_given_up_undo_nothing(run: Run) -> None:
    async def main() -> None:
        async with scene() as play:
            session, wire = await play.open()
            play.fleet.gone(MIND)
            waits = [
                asyncio.ensure_future(wait)
                for wait in (session.wait_closed(), session.wait_closed(), play.runtime.wait_ready(MIND))
            ]
            await asyncio.sleep(0)
            waits[0].cancel()
            await asyncio.sleep(0)
            session.close()
            await waits[1]
            await wire.over.wait()
            assert wire.closings == [(1000, "client_close")]
            assert (waits[0].cancelled(), waits[2].done()) == (True, False)
            play.fleet.come_back(MIND)
            await waits[2]
            with pytest.raises(KeyError, match="nobody"):
                await play.runtime.wait_ready("nobody")
            await session.wait_room()

    run(main)


@pytest.mark.real_clock
def test_errors_of_the_runtime_are_raised_to_the_task_that_asked(run: Run) -> None:
    async def main() -> None:
        async with scene(max_sessions=1) as play:
            session, wire = await play.open()
            with pytest.raises(ClientError, match="max_sessions = 1"):
                await play.runtime.open(play.wire())
            with pytest.raises(ClientError, match="invalid_resume_token"):
                await play.runtime.resume(session.session_id, "not the token", 0, play.wire())
            assert wire.types == ["session.created"]
            assert session.is_attached

    run(main)


class NoWorkers(ThreadPoolExecutor):
    """An executor that has none."""

    def submit(self, *_: object, **__: object) -> NoReturn:
        """Refuse."""
        raise AssertionError("a worker was asked for")


@pytest.mark.real_clock
def test_ap_22_no_wait_under_asyncio_holds_a_worker(run: Run) -> None:
    """vllm-omni: a wait occupied the executor thread that what it waited for needed. Here none is ever asked for."""

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(NoWorkers())
        async with scene() as play:
            opened = [await play.spoken() for _ in range(40)]
            waits = [asyncio.ensure_future(session.wait_closed()) for session, _ in opened]
            for session, _ in opened:
                session.close()
            await asyncio.gather(*waits)

    run(main)


class Stubborn(Wire):
    """A transport of a foreign server whose ``send`` heeds no cancel: it returns when the socket is freed."""

    async def _room(self) -> None:
        while self._accepts < 1 and not self.over.is_set():
            with suppress(asyncio.CancelledError):
                await self.over.wait()
        await super()._room()


@pytest.mark.real_clock
def test_a_send_that_heeds_no_cancel_is_given_up_after_write_s(run: Run) -> None:
    async def main() -> None:
        async with scene(kind=Stubborn, write_s=0.1) as play:
            wire = play.wire(3)
            session = await play.runtime.open(wire)
            session.append(LOUD)
            session.commit()
            async with asyncio.timeout(5):
                await play.until(session, lambda driver: driver.value.state("attachment") == "DETACHED")
            assert (wire.aborts, claims(play, wire), state(session, "session")) == (["write_timeout"], False, "OPEN")

    run(main)
