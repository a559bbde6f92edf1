"""A story for the recorder, played once on the real runtime: everything that a trace can hold happens in it.

Two sessions that speak, one after the other and at once; a barge-in on frames that nobody was sent; a lost
token that comes back as the presented one, its proof and its end; a claim that is cancelled in mid-replay; refusals;
a grace that runs out.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.machine import Message
from interlock.observe.trace import Trace
from interlock.runtime.talk import Session
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.transport.memory import MemoryTransport
from tests.runtime.stage_play import LOUD, Play, play


@dataclass
class Told:
    """What was never to be written down: ``tokens`` in clear, and everything that a client was sent."""

    tokens: list[str] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)


async def live(trace: Trace) -> Told:
    """Play the story."""
    told = Told()
    async with play(record=trace, grace_s=4.0) as scene:
        session, transport = await scene.open()
        other, _ = await scene.open()
        await scene.speak(session)
        session.ack(3)
        await trio.sleep(1)
        await _talk_over(scene, session, transport)
        other.append(LOUD)
        with pytest.raises(ClientError):
            other.cancel_response("resp_never")
        again = await _lose_and_resume(scene, session, transport)
        await scene.speak(again)
        other.close()
        await _give_up(scene, again)
        told.tokens = [made.credentials[1] for made in scene.transports if "resume_token" in str(made.frames)]
        told.sent = [frame for made in scene.transports for frame in made.frames]
    return told


async def _talk_over(scene: Play, session: Session, transport: MemoryTransport) -> None:
    """Interrupt a reply of which half is with the client, and half is not."""
    transport.stall()
    transport.allow(3)
    session.append(LOUD)
    session.commit()
    await scene.until(session, lambda driver: sum(entry.ended for entry in driver.value.playback) == 2)
    session.barge_in()
    transport.allow()
    await trio.testing.wait_all_tasks_blocked()


async def _lose_and_resume(scene: Play, session: Session, first: MemoryTransport) -> Session:
    """Lose the line; come back with the same token twice, as if the answer was lost; prove the new one."""
    name, token, _ = first.credentials
    session.detach("reset")
    await trio.sleep(1)
    lost = await scene.host.resume(name, token, 3, scene.transport())
    lost.detach("reset")
    second = scene.transport()
    again = await scene.host.resume(name, token, 3, second)
    again.ack(max(second.numbers), claimed=again.generation)
    lost.detach("stale by now")
    for wrong, position in (("no token", 3), (token, 3), (second.credentials[1], 999)):
        with pytest.raises(ClientError):
            await scene.host.resume(name, wrong, position, scene.transport())
    return again


async def _give_up(scene: Play, session: Session) -> None:
    """Cancel a takeover in mid-replay, and let the grace run out."""
    held = [made for made in scene.transports if made.frames and made.credentials[0] == session.session_id]
    token, have = held[-1].credentials[1], scene.driver(session).value.journal.trimmed
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            stalled = scene.transport(accepts=1)
            nursery.start_soon(scene.host.resume, session.session_id, token, have, stalled)
            await stalled.wait_frames(1)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    await session.wait_closed()


class Flushing(Trace):
    """Hands over every record at once, so that it depends on nothing but the records where a file ends."""

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        super().decided(at, before, event, decision)
        self.flush()


@functools.cache
def recorded(**options: int) -> tuple[tuple[bytes, ...], Told]:
    """Return the files of a trace of the story, in order, and what it was not to hold. Played once."""
    with TemporaryDirectory() as folder:
        trace = Flushing(Path(folder), **options)
        told: list[Told] = []

        async def main() -> None:
            told.append(await live(trace))

        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
        trace.close()
        return tuple(path.read_bytes() for path in sorted(Path(folder).iterdir())), told[0]
