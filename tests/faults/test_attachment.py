"""Faults of attachment and resume, AT-01 to AT-23 (docs/faults.md), where no other test has them already."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.acts import ClaimLost
from interlock.runtime.talk import Session
from interlock.transport.client import Credentials, open_client
from interlock.transport.client_errors import Refused, ResyncRequired
from interlock.transport.limits import ClientLimits
from interlock.transport.memory import MemoryTransport
from interlock.wire import outbound
from tests.runtime.stage_play import Play, play, state
from tests.transport.scripted import Seat, played


async def resume(scene: Play, session: Session, token: str, transport: MemoryTransport) -> Session:
    """Resume from nothing."""
    return await scene.host.resume(session.session_id, token, 0, transport)


async def expect_lost(scene: Play, session: Session, token: str, transport: MemoryTransport, why: str) -> None:
    with pytest.raises(ClaimLost, match=why):
        await resume(scene, session, token, transport)


def parity(session: Session) -> tuple[str, str]:
    return state(session, "attachment"), state(session, "lease")


async def test_at_02_a_cancelled_resume_gives_its_only_slot_back_when_the_grace_is_over() -> None:
    """vllm-omni #7636: nothing attached and no grace clock; the slot was held until idle expiry."""
    async with play(max_sessions=1, grace_s=30.0, idle_s=300.0) as scene:
        session, first = await scene.open()
        session.detach()
        await trio.sleep(10.0)
        with trio.move_on_after(1.0):
            await resume(scene, session, first.credentials[1], scene.transport(accepts=0))
        assert parity(session) == ("ROLLED_BACK", "GRACE")
        await trio.sleep(29.9)
        assert scene.host.slots == 1
        await trio.sleep(0.2)
        assert scene.host.slots == 0
        again, _ = await scene.open()
        assert again.session_id != session.session_id


async def test_at_03_a_cancelled_waiter_is_settled_at_that_line_and_its_generation_is_spent() -> None:
    """vllm-omni #7785: the engine applied the resume that nobody waited for any more; each later one failed."""
    async with play() as scene:
        session, first = await scene.open()
        token, stalled = first.credentials[1], scene.transport(accepts=0)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(resume, scene, session, token, stalled)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        assert (parity(session), scene.driver(session).value.generation) == (("ROLLED_BACK", "GRACE"), 2)
        stalled.allow()
        await trio.testing.wait_all_tasks_blocked()
        assert (parity(session), stalled.frames) == (("ROLLED_BACK", "GRACE"), [])
        again = await resume(scene, session, token, scene.transport())
        assert (again.generation, again.is_attached) == (3, True)


async def test_at_03_a_cancel_that_comes_with_the_completion_is_one_or_the_other() -> None:
    async with play() as scene:
        session, first = await scene.open()
        returned: list[Session] = []

        async def claim(transport: MemoryTransport) -> None:
            returned.append(await resume(scene, session, first.credentials[1], transport))

        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                transport = scene.transport()
                nursery.start_soon(claim, transport)
                await transport.wait_for("session.resumed")
                scope.cancel()
        assert parity(session) == (("ATTACHED", "HELD") if returned else ("ROLLED_BACK", "GRACE"))


async def test_at_04_a_timed_out_resume_has_a_definite_outcome_and_the_token_is_still_good() -> None:
    """vllm-omni #7785: a timeout was taken for a failure, although the resume had landed."""
    async with play(grace_s=30.0) as scene:
        session, first = await scene.open()
        session.detach()
        for _ in range(3):
            with trio.move_on_after(2.0) as timeout:
                await resume(scene, session, first.credentials[1], scene.transport(accepts=0))
            assert (timeout.cancelled_caught, parity(session)) == (True, ("ROLLED_BACK", "GRACE"))
        assert (await resume(scene, session, first.credentials[1], scene.transport())).is_attached


async def test_at_06_the_failed_send_of_the_loser_does_not_put_the_winner_into_grace() -> None:
    """vllm-omni #7785: the pump detached "the current" attachment, with the newest generation."""
    async with play(grace_s=5.0, evict_s=4.0) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()
        second = scene.transport()
        winner = await resume(scene, session, first.credentials[1], second)
        first.tear()
        await trio.testing.wait_all_tasks_blocked()
        assert (parity(winner), second.is_open) == (("ATTACHED", "HELD"), True)
        await trio.sleep(6.0)
        assert state(winner, "session") == "OPEN"


async def test_at_09_a_claim_over_a_claim_that_then_fails_leaves_one_whole_grace_and_a_good_token() -> None:
    """vllm-omni #7785: the rollback gave an older generation back, and the newest one had no owner."""
    async with play(grace_s=30.0) as scene:
        session, first = await scene.open()
        token, second, third = first.credentials[1], scene.transport(accepts=0), scene.transport(accepts=0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(expect_lost, scene, session, token, second, "session_replaced")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(expect_lost, scene, session, token, third, "the peer is gone")
            await trio.testing.wait_all_tasks_blocked()
            third.tear()
        assert parity(session) == ("ROLLED_BACK", "GRACE")
        await trio.sleep(29.9)
        assert (await resume(scene, session, token, scene.transport())).generation == 4


async def test_at_10_a_second_and_a_third_cancel_find_nothing_half_done() -> None:
    """vllm-omni #7785: a second cancel between the two steps of the rollback split registry and engine."""
    async with play() as scene:
        session, first = await scene.open()
        seen: list[tuple[str, str]] = []
        with trio.CancelScope() as outer, trio.CancelScope() as middle, trio.CancelScope() as inner:
            async with trio.open_nursery() as nursery:

                async def claim() -> None:
                    try:
                        await resume(scene, session, first.credentials[1], scene.transport(accepts=0))
                    finally:
                        seen.append(parity(session))
                        with trio.CancelScope(shield=True):
                            await trio.lowlevel.checkpoint()
                        seen.append(parity(session))

                nursery.start_soon(claim)
                await trio.testing.wait_all_tasks_blocked()
                for scope in (inner, middle, outer):
                    scope.cancel()
        assert seen == [("ROLLED_BACK", "GRACE")] * 2
        assert len(scene.driver(session).value.closing) <= 2


async def test_at_14_a_resume_whose_answer_is_lost_may_be_asked_for_again_and_again() -> None:
    """ircv3 #306: the token was rotated, the answer got lost, and the client knew no token that was valid."""
    async with play() as scene:
        session, first = await scene.open()
        token = first.credentials[1]
        for generation in range(2, 7):
            deaf = scene.transport(accepts=1)  # session.resumed is handed over, and never read
            again = await resume(scene, session, token, deaf)
            assert again.generation == generation
            if generation % 2:
                deaf.tear()
                again.heartbeat()
                await trio.testing.wait_all_tasks_blocked()
        assert (await resume(scene, session, token, scene.transport())).is_attached


async def test_at_17_a_resume_of_a_session_that_is_still_attached_is_a_takeover() -> None:
    """socket.io #4880: a client back before its loss was noticed got a fresh session."""
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        second = scene.transport()
        again = await resume(scene, session, first.credentials[1], second)
        assert (again.session_id, second.credentials[0]) == (session.session_id, session.session_id)
        assert second.numbers == first.numbers
        await first.wait_over()
        assert first.closings == [(4001, "session_replaced")]


async def test_at_21_a_reconnect_does_not_wait_for_the_dead_stream_to_time_out() -> None:
    """render-mcp-server #26: refused as "already exists" for two minutes."""
    async with play(write_s=120.0) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        again = await resume(scene, session, first.credentials[1], scene.transport())
        assert (again.is_attached, trio.current_time() - began) == (True, 0.0)


async def test_at_19_of_two_clients_with_one_token_the_replaced_one_cannot_come_back_once_the_other_proved() -> None:
    """anubis-mcp #215: both read a close as "reconnect now", and took over from each other without end."""
    async with play() as scene:
        session, first = await scene.open()
        token, second = first.credentials[1], scene.transport()
        again = await resume(scene, session, token, second)
        again.ack(0, claimed=second.credentials[2])
        for _ in range(3):
            with pytest.raises(ClientError) as caught:
                await resume(scene, session, token, scene.transport())
            assert caught.value.code == "invalid_resume_token"
        assert (again.is_attached, second.is_open) == (True, True)


@pytest.mark.real_clock
@pytest.mark.timeout_s(10)
async def test_at_23_a_client_whose_session_is_lost_knows_that_it_was_resuming() -> None:
    """centrifuge-dart #113: the position was reset, and the application took the next session for a first one."""

    async def gone(seat: Seat) -> None:
        await seat.read()
        await seat.send(outbound.error("session_resume_expired", "the session has ended: idle_ttl_expired"))

    async def gap(seat: Seat) -> None:
        await seat.read()
        await seat.send(outbound.resync_required("s1", "journal_gap", None, 9))

    for act, error in ((gone, Refused), (gap, ResyncRequired)):
        async with played(act) as (url, play):
            with pytest.raises(error):
                await opened_by(url, Credentials("s1", "t1", 7))
            (claim,) = play.seats[0].heard
            assert (claim["session_id"], claim["last_received_server_event_seq"]) == ("s1", 7)
            assert len(play.seats) == 1


async def opened_by(url: str, credentials: Credentials) -> None:
    async with open_client(url, credentials=credentials, limits=ClientLimits(attempts=1)):
        raise AssertionError("a lost session was opened anew")
