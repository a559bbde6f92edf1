"""The four canonical cases: {takeover, reconnect} x {cancel during activation, cancel during replay}.

vllm-omni #7413 and #8200; AT-01, AT-02, AT-10, AT-14.
"""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.talk import Session
from interlock.tables import messages as m
from interlock.transport.memory import MemoryTransport
from tests.runtime.stage_play import Play, play, state

GRACE_S = 30.0


async def test_at_01_cancel_during_activation_of_a_takeover() -> None:
    await cancelled_resume(takeover=True, accepts=0, phase="ACTIVATING")


async def test_at_01_cancel_during_replay_of_a_takeover() -> None:
    await cancelled_resume(takeover=True, accepts=1, phase="REPLAYING")


async def test_at_01_cancel_during_activation_of_a_reconnect() -> None:
    await cancelled_resume(takeover=False, accepts=0, phase="ACTIVATING")


async def test_at_01_cancel_during_replay_of_a_reconnect() -> None:
    await cancelled_resume(takeover=False, accepts=1, phase="REPLAYING")


async def cancelled_resume(*, takeover: bool, accepts: int, phase: str) -> None:
    async with play(grace_s=GRACE_S) as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        everything = first.numbers
        session_id, token, _ = first.credentials
        assert len(everything) > 20
        if not takeover:
            session.detach()

        for _ in range(5):
            lost = await cancel_in(scene, session, token, accepts, phase)
            assert_landed(scene, session, lost)
        await assert_evicted(first, takeover=takeover)

        await assert_full_grace_runs(scene, session)
        await assert_recovers_until_proved(scene, session_id, token, everything)


async def cancel_in(scene: Play, session: Session, token: str, accepts: int, phase: str) -> MemoryTransport:
    """Resume on a transport that stalls, and cancel the caller there; the cancel must come out."""
    transport = scene.transport(accepts)
    propagated = False
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def resume() -> None:
                nonlocal propagated
                try:
                    await scene.host.resume(session.session_id, token, 0, transport)
                except trio.Cancelled:
                    propagated = True
                    raise

            nursery.start_soon(resume)
            await trio.testing.wait_all_tasks_blocked()
            assert state(session, "attachment") == phase
            scope.cancel()
    assert scope.cancelled_caught
    assert propagated
    return transport


def assert_landed(scene: Play, session: Session, lost: MemoryTransport) -> None:
    """At the very line after the cancel: nothing attached, the transport freed once, the slot held."""
    assert state(session, "attachment") == "ROLLED_BACK"
    assert state(session, "lease") == "GRACE"
    assert state(session, "session") == "OPEN"
    assert (lost.closings, lost.aborts) == ([], ["cancelled"])
    assert scene.host.slots == 1


async def assert_evicted(first: MemoryTransport, *, takeover: bool) -> None:
    """The transport that was attached before was closed once, and told why."""
    await first.wait_over()
    assert first.closings == ([(4001, "session_replaced")] if takeover else [])
    assert first.aborts == ([] if takeover else ["disconnected"])
    assert ("session.replaced" in first.types) is takeover


async def assert_full_grace_runs(scene: Play, session: Session) -> None:
    """The last rollback started a whole grace: nearly all of it later the session is there, and one timer runs."""
    rolled_back_at = trio.current_time()
    (timer,) = [timer for timer in scene.host.deadlines.armed if timer.target == "lease"]
    assert (timer.session_id, timer.event) == (session.session_id, m.GraceExpired)
    assert scene.host.deadlines.due_at(timer) == pytest.approx(rolled_back_at + GRACE_S)
    await trio.sleep(GRACE_S - 0.001)
    assert state(session, "session") == "OPEN"


async def assert_recovers_until_proved(scene: Play, session_id: str, token: str, everything: list[int]) -> None:
    """The presented token recovers at once and completely, until a recovery is proved; then it is refused."""
    before = trio.current_time()
    unproved = scene.transport()
    await scene.host.resume(session_id, token, 0, unproved)
    recovered = scene.transport()
    again = await scene.host.resume(session_id, token, 0, recovered)
    assert trio.current_time() == before
    assert unproved.numbers == recovered.numbers == everything
    with pytest.raises(ClientError, match="invalid_resume_token"):
        await scene.host.resume(session_id, unproved.credentials[1], 0, scene.transport())

    _, fresh, generation = recovered.credentials
    again.ack(0, claimed=generation)
    with pytest.raises(ClientError, match="invalid_resume_token"):
        await scene.host.resume(session_id, token, 0, scene.transport())
    last = await scene.host.resume(session_id, fresh, everything[-1], scene.transport())
    assert state(last, "attachment") == "ATTACHED"

    last.close()
    await last.wait_closed()
    assert scene.host.slots == 0


async def test_grace_that_runs_out_after_a_cancelled_resume_ends_the_session() -> None:
    async with play(grace_s=GRACE_S) as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        await cancel_in(scene, session, first.credentials[1], 1, "REPLAYING")
        began = trio.current_time()
        await session.wait_closed()
        assert trio.current_time() - began == pytest.approx(GRACE_S)
        assert scene.host.slots == 0
        with pytest.raises(ClientError, match="disconnect_grace_expired"):
            await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
