"""Nothing stale after a barge-in, and nothing forgotten: promises 2 and 4."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import MIND, VOICE
from interlock.workers.protocol import Abort, Submit
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, play, state

DELTA = "response.output_audio.delta"


def deltas_of(transport: MemoryTransport, response_id: str) -> list[int]:
    return [e["server_event_seq"] for e in transport.events if e["type"] == DELTA and e["response_id"] == response_id]


async def test_fe_04_a_stalled_reader_gets_no_stale_delta() -> None:
    """Fifty deltas wait for a client that does not read: of them at most one write was under way, none is replayed."""
    async with play(frames=50, write_bytes=2048) as scene:
        scene.fleet[VOICE].script.ends = False
        session, first = await scene.open()
        token = first.credentials[1]
        first.stall()
        session.append(LOUD)
        session.commit()
        await trio.testing.wait_all_tasks_blocked()
        await scene.until(session, lambda driver: driver.value.journal.head > 50)
        (response_id,) = [entry.response_id for entry in scene.driver(session).value.playback]
        handed = len(deltas_of(first, response_id))

        session.barge_in()
        first.allow()
        await first.wait_for("response.done")
        await trio.testing.wait_all_tasks_blocked()
        assert len(deltas_of(first, response_id)) - handed <= 1
        assert first.types.count("response.done") == 1

        replayed = scene.transport()
        again = await scene.host.resume(session.session_id, token, 0, replayed)
        assert deltas_of(replayed, response_id) == []
        assert replayed.types.count("response.done") == 1
        done = await replayed.wait_for("response.done")
        assert done["response"]["status"] == "cancelled"
        again.close()
        await again.wait_closed()


async def test_sr_01_a_failed_clean_up_keeps_the_id_and_the_slot_until_close_has_retried_it() -> None:
    """vllm-omni #7708: the epoch advances first; the id stays; close aborts it under the same id; then it goes."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script(frames=0)
        scene.fleet[VOICE].script.abort_failures = 1
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: any(key[0] == "response" for key in d.value.cells))
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held

        epoch = scene.driver(session).value.epoch
        session.barge_in()
        assert scene.driver(session).value.epoch == epoch + 1
        await first.wait_for("error")
        assert state(session, "request", voice) == "OWED"
        assert state(session, "fence", epoch) == "RETAINED"
        assert [e["error"]["code"] for e in first.events if e["type"] == "error"] == ["runtime_signal_failed"]

        stale = scene.driver(session).value.stale
        head = scene.driver(session).value.journal.head
        scene.fleet[VOICE].audio(voice)
        assert scene.driver(session).value.stale == stale + 1
        assert scene.driver(session).value.journal.head == head

        assert scene.host.owed() == [
            {
                "session": session.session_id,
                "kind": "request",
                "id": voice,
                "state": "OWED",
                "stage": VOICE,
                "incarnation": 1,
                "retries": 0,
                "rests": False,
            }
        ]
        session.close()
        assert scene.host.slots == 1
        await session.wait_closed()
        aborts = [order.request_ids for order in scene.fleet.orders_of(Abort, VOICE)]
        assert aborts == [[voice], [voice]]
        assert scene.host.slots == 0
        assert scene.fleet.held == 0


async def test_a_stage_that_never_confirms_leaves_the_session_in_quarantine_with_its_slot() -> None:
    async with play(cleanup_s=5.0) as scene:
        scene.fleet[VOICE].script = Script(frames=0, abort="hang")
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: any(key[0] == "response" for key in d.value.cells))
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held
        began = trio.current_time()
        session.close()
        await session.wait_closed()
        assert trio.current_time() - began == pytest.approx(5.0)
        assert state(session, "session") == "QUARANTINED"
        assert scene.host.slots == 1
        await first.wait_over()
        assert first.types[-2:] == ["error", "session.closed"] or first.types[-1] == "session.closed"
        assert first.closings == [(1000, "client_close")]

        scene.fleet[VOICE].confirm(voice)
        assert scene.host.slots == 0


async def test_the_death_of_the_worker_releases_what_it_held() -> None:
    async with play() as scene:
        scene.fleet[VOICE].script = Script(frames=0, abort="hang")
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: any(key[0] == "response" for key in d.value.cells))
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held

        scene.fleet.lose(VOICE)
        assert state(session, "request", voice) == "OWED"
        assert state(session, "session") == "OPEN"
        done = await first.wait_for("response.done")
        assert done["response"]["status"] == "failed"
        scene.fleet.gone(VOICE)
        assert state(session, "request", voice) == ""

        scene.fleet.come_back(VOICE)
        scene.fleet[VOICE].script = Script(frames=3, begins="input", ahead=3)
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: any(e.ended for e in d.value.playback[1:]))
        await trio.testing.wait_all_tasks_blocked()
        assert [e["response"]["status"] for e in first.events if e["type"] == "response.done"][-1] == "completed"
        session.close()
        await session.wait_closed()


async def test_fe_18_a_cancel_before_any_stage_began_gives_a_cancelled_response() -> None:
    async with play() as scene:
        scene.fleet[MIND].script = Script(submit="hang")
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        created = await first.wait_for("response.created")
        response_id = created["response"]["id"]
        assert state(session, "response", response_id) == "REQUESTED"
        session.cancel_response(response_id)
        done = await first.wait_for("response.done")
        assert done["response"]["status"] == "cancelled"
        session.cancel_response(response_id)
        with pytest.raises(ClientError, match="response_not_active"):
            session.cancel_response("resp_never")
        session.close()
        await session.wait_closed()
        assert first.types.count("response.done") == 1


async def test_an_abort_never_overtakes_its_submit() -> None:
    async with play(max_fences=64, max_requests=256) as scene:
        session, _ = await scene.open()
        for _ in range(20):
            session.append(LOUD)
            session.commit()
            await scene.until(session, lambda d: any(key[0] == "response" for key in d.value.cells))
            session.barge_in()
        session.close()
        await session.wait_closed()
        seen: set[str] = set()
        for handed in scene.fleet.orders:
            if isinstance(handed.order, Submit):
                assert handed.order.request_id not in seen
            elif isinstance(handed.order, Abort):
                seen.update(handed.order.request_ids)
