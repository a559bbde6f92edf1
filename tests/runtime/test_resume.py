"""Resume: who ends attached, what a refusal moves (nothing), and how long the old transport may stand in the way."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.acts import ClaimLost, ResyncRequired
from interlock.runtime.talk import Session
from interlock.session.books import Trimmed
from interlock.tables import messages as m
from interlock.transport.memory import MemoryTransport
from interlock.wire.lifecycle import LifecycleFacts
from tests.runtime.stage_play import Play, play, state


async def outcome_of(scene: Play, session: Session, token: str, transport: MemoryTransport) -> str:
    """Resume from nothing; return ``attached``, or why not."""
    try:
        await scene.host.resume(session.session_id, token, 0, transport)
    except ClaimLost as lost:
        return str(lost)
    except ClientError as error:
        return error.code
    return "attached"


async def refused(scene: Play, session: Session, token: str, position: int = 0) -> ClientError:
    """Resume, which must be refused; return how."""
    with pytest.raises(ClientError) as caught:
        await scene.host.resume(session.session_id, token, position, scene.transport())
    return caught.value


async def test_at_07_of_two_resumes_at_once_exactly_one_ends_attached() -> None:
    async with play() as scene:
        session, first = await scene.open()
        token, outcomes = first.credentials[1], []
        transports = [scene.transport(), scene.transport()]

        async def claim(transport: MemoryTransport) -> None:
            outcomes.append(await outcome_of(scene, session, token, transport))

        async with trio.open_nursery() as nursery:
            for transport in transports:
                nursery.start_soon(claim, transport)
        assert sorted(outcomes) == ["attached", "session_replaced"]
        await trio.testing.wait_all_tasks_blocked()
        assert [made.is_open for made in transports].count(True) == 1
        assert (state(session, "attachment"), state(session, "lease")) == ("ATTACHED", "HELD")
        assert scene.driver(session).offers == {}


async def test_at_15_a_takeover_waits_for_nothing_while_the_old_transport_hangs() -> None:
    async with play(evict_s=2.0) as scene:
        session, first = await scene.open()
        token = first.credentials[1]
        first.stall()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        again = await scene.host.resume(session.session_id, token, 0, scene.transport())
        assert trio.current_time() == began
        assert state(again, "attachment") == "ATTACHED"
        assert (first.closings, first.aborts) == ([], [])
        assert [entry["kind"] for entry in scene.host.owed()] == ["transport"]
        await first.wait_over()
        assert trio.current_time() - began == pytest.approx(2.0)
        assert (first.closings, first.aborts) == ([], ["session_replaced"])
        assert scene.host.owed() == []


async def test_at_15_with_too_many_transports_evicting_the_next_goes_at_once() -> None:
    async with play(evict_s=2.0, max_evicting=2) as scene:
        session, first = await scene.open()
        token, transports = first.credentials[1], [first]
        for _ in range(3):
            transports[-1].stall()
            session.heartbeat()
            await trio.testing.wait_all_tasks_blocked()
            transports.append(scene.transport())
            session = await scene.host.resume(session.session_id, token, 0, transports[-1])
        assert [made.aborts for made in transports] == [[], [], ["session_replaced"], []]
        assert scene.host.limits()["max_evicting"]["high_water"] <= 2
        await trio.sleep(2.1)
        assert [made.is_open for made in transports] == [False, False, False, True]
        assert scene.driver(session).value.closing == ()


async def test_at_19_a_superseded_caller_can_do_nothing_and_loses_nothing_of_the_winner() -> None:
    async with play() as scene:
        session, first = await scene.open()
        again = await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        for act in (session.barge_in, session.heartbeat, session.close, session.commit, lambda: session.ack(0)):
            with pytest.raises(ClientError, match="another transport"):
                act()
        session.detach()
        assert (session.is_current, session.is_attached, again.is_attached) == (False, False, True)
        await first.wait_over()
        assert first.types[-1] == "session.replaced"
        assert first.closings == [(4001, "session_replaced")]


async def test_a_refused_resume_moves_nothing() -> None:
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        token, before = first.credentials[1], scene.driver(session).value
        assert (await refused(scene, session, "wrong")).code == "invalid_resume_token"
        assert (await refused(scene, session, "")).code == "invalid_resume_token"
        assert (await refused(scene, session, "\ud800")).code == "invalid_resume_token"
        assert (await refused(scene, session, token, before.journal.head + 1)).code == "session_resume_conflict"
        assert scene.driver(session).value == before._replace(refused=4)
        assert scene.driver(session).offers == {}
        assert first.is_open


async def test_a_gap_tells_from_where_to_go_on_with_the_same_token() -> None:
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        token = first.credentials[1]
        session.ack(7)
        with pytest.raises(ResyncRequired) as caught:
            await scene.host.resume(session.session_id, token, 6, scene.transport())
        assert (caught.value.resumable_from, caught.value.head) == (7, first.numbers[-1])
        second = scene.transport()
        await scene.host.resume(session.session_id, token, caught.value.resumable_from, second)
        assert second.numbers == first.numbers[7:]


async def test_everything_dropped_while_detached_can_be_resumed_and_proved() -> None:
    """Nothing of it was ever handed over, and yet the position that the server named is one that it takes as read."""
    async with play() as scene:
        session, first = await scene.open()
        session.detach()
        driver = scene.driver(session)
        driver.tell("error", LifecycleFacts(code="engine_error"))
        driver.dispatch(Trimmed(driver.value.journal.head))
        token = first.credentials[1]
        with pytest.raises(ResyncRequired) as caught:
            await scene.host.resume(session.session_id, token, 0, scene.transport())
        second = scene.transport()
        again = await scene.host.resume(session.session_id, token, caught.value.resumable_from, second)
        again.ack(caught.value.resumable_from, claimed=second.credentials[2])
        assert (await refused(scene, session, token, 1)).code == "invalid_resume_token"


async def test_a_superseded_token_is_refused_once_its_successor_proved() -> None:
    async with play() as scene:
        session, first = await scene.open()
        zeroth, second = first.credentials[1], scene.transport()
        again = await scene.host.resume(session.session_id, zeroth, 0, second)
        again.append(b"\0\0" * 10)  # audio proves nothing: AT-14
        third = scene.transport()
        again = await scene.host.resume(session.session_id, zeroth, 0, third)
        assert (await refused(scene, session, second.credentials[1])).code == "invalid_resume_token"
        again.ack(0, claimed=third.credentials[2])
        assert (await refused(scene, session, zeroth)).code == "invalid_resume_token"
        last = await scene.host.resume(session.session_id, third.credentials[1], 0, scene.transport())
        assert state(last, "attachment") == "ATTACHED"


async def test_an_ack_of_what_was_read_before_the_drop_proves_nothing() -> None:
    """Only an ack above the journal's head at the moment of the claim is proof."""
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        token, head = first.credentials[1], first.numbers[-1]
        again = await scene.host.resume(session.session_id, token, head - 3, scene.transport())
        again.ack(head)
        again = await scene.host.resume(session.session_id, token, head, scene.transport())
        await scene.speak(again)
        await trio.testing.wait_all_tasks_blocked()
        again.ack(head + 1)
        assert (await refused(scene, session, token, head)).code == "invalid_resume_token"


async def test_at_19_two_clients_that_take_over_from_each_other_a_hundred_times() -> None:
    async with play() as scene:
        session, transport = await scene.open()
        for _ in range(100):
            token = transport.credentials[1]
            old, transport = transport, scene.transport()
            session = await scene.host.resume(session.session_id, token, 0, transport)
            assert session.is_attached
            await old.wait_over()
            assert old.closings == [(4001, "session_replaced")]
        assert session.generation == 101
        assert scene.driver(session).value.closing == ()
        assert len(scene.driver(session).deliveries) == 1


async def test_a_resume_of_an_unknown_or_ended_session_is_told_so() -> None:
    async with play(grace_s=30.0) as scene:
        with pytest.raises(ClientError, match="no such session") as caught:
            await scene.host.resume("sess_never", "token", 0, scene.transport())
        assert caught.value.code == "session_resume_expired"
        session, first = await scene.open()
        session.close()
        await session.wait_closed()
        assert "has ended: client_close" in str(await refused(scene, session, first.credentials[1]))
        await trio.sleep(30.0)
        assert "ended a while ago" in str(await refused(scene, session, first.credentials[1]))


async def test_a_resume_of_a_session_in_quarantine_is_told_how_it_ended() -> None:
    async with play(cleanup_s=1.0) as scene:
        scene.fleet["ears"].script.abort = "hang"
        session, first = await scene.open()
        session.append(b"\0\0" * 10)
        await trio.testing.wait_all_tasks_blocked()
        session.close()
        await session.wait_closed()
        assert state(session, "session") == "QUARANTINED"
        await first.wait_over()
        await trio.testing.wait_all_tasks_blocked()
        error = await refused(scene, session, first.credentials[1])
        assert (error.code, str(error)) == ("session_resume_expired", "the session has ended: client_close")
        assert scene.driver(session).frames.size == 0
        (listening,) = scene.fleet["ears"].held
        scene.fleet["ears"].confirm(listening)


async def test_at_10_cancelled_resumes_leave_nothing_beside_the_session() -> None:
    async with play() as scene:
        session, first = await scene.open()
        session.detach()
        for _ in range(20):
            with trio.move_on_after(0.01):
                await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport(accepts=0))
        await trio.testing.wait_all_tasks_blocked()
        assert scene.driver(session).offers == {}
        assert scene.driver(session).deliveries == {}
        assert scene.driver(session).value.closing == ()


async def test_tw_02_a_transport_that_breaks_its_word_is_lost_like_any_other() -> None:
    class Broken(MemoryTransport):
        async def send(self, frames: object) -> None:
            raise OSError("not a word of the port")

    async with play() as scene:
        session, first = await scene.open()
        with pytest.raises(ClaimLost, match="OSError"):
            await scene.host.resume(session.session_id, first.credentials[1], 0, Broken())
        assert (state(session, "session"), state(session, "attachment")) == ("OPEN", "ROLLED_BACK")
        again = await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        assert again.is_attached


async def test_tw_03_what_a_superseded_transport_reports_changes_nothing() -> None:
    async with play() as scene:
        session, first = await scene.open()
        await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        driver = scene.driver(session)
        before = driver.value
        for event in (m.TransportLost(1, "reset"), m.ActivationDelivered(1), m.ReplayDelivered(1)):
            driver.dispatch(event)
        assert driver.value == before._replace(stale=before.stale + 3)
