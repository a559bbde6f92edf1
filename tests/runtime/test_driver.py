"""The driver: order inside a dispatch, and whose session pays for what goes wrong in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import trio
import trio.testing

from interlock.errors import Defect
from interlock.machine import Message
from interlock.observe.trace import Trace
from interlock.session.books import APPLY
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.tables import messages as m
from interlock.workers.echo import EARS, VOICE, EchoPipeline
from interlock.workers.link import OrderLink
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, play, state


def events_of(scene_trace: Trace, session_id: str) -> list[str]:
    return [r["event"]["type"] for r in scene_trace.records if "event" in r and r["session"] == session_id]


async def test_what_is_dispatched_inside_a_dispatch_comes_after_it_and_in_its_order() -> None:
    async with play() as scene:
        scene.fleet[EARS].script = Script(submit="hang")
        session, _ = await scene.open()
        driver = scene.driver(session)

        class Nested(Trace):
            def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
                super().decided(at, before, event, decision)
                if isinstance(event, m.InterruptRequested) and event.reason == "outer":
                    driver.dispatch(m.InterruptRequested("first"))
                    driver.dispatch(m.InterruptRequested("second"))
                if isinstance(event, m.InterruptRequested) and event.reason == "first":
                    driver.dispatch(m.InterruptRequested("inner"))

        scene.host.record = nested = Nested()
        session.barge_in("outer")
        reasons = [record["event"]["reason"] for record in nested.records if "event" in record]
        assert reasons == ["outer", "first", "inner", "second"]
        assert driver.value.epoch == 5


@pytest.mark.real_clock
async def test_a_foreign_thread_is_turned_away_and_nothing_has_changed() -> None:
    async with play() as scene:
        session, _ = await scene.open()
        before = scene.driver(session).value
        with pytest.raises(Defect, match="run_sync_soon"):
            await trio.to_thread.run_sync(session.barge_in)
        assert scene.driver(session).value == before
        trio.lowlevel.current_trio_token().run_sync_soon(session.barge_in)
        await trio.testing.wait_all_tasks_blocked()
        assert scene.driver(session).value.epoch == before.epoch + 1


async def test_an_effect_that_raises_becomes_its_failure_and_costs_only_its_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with play() as scene:
        session, first = await scene.open()
        other, _ = await scene.open()

        def broken(*_: object) -> None:
            raise OSError("the pipe is gone")

        with monkeypatch.context() as patch:
            patch.setattr(OrderLink, "submit", broken)
            session.append(LOUD)
        await first.wait_for("error")
        assert [e["error"]["message"] for e in first.events if e["type"] == "error"] == ["OSError"]
        assert (state(session, "session"), state(other, "session")) == ("OPEN", "OPEN")
        await scene.speak(session)
        await scene.speak(other)


async def test_an_abort_that_raises_is_owed_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with play() as scene:
        session, _ = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held

        def broken(*_: object) -> None:
            raise OSError("the pipe is gone")

        with monkeypatch.context() as patch:
            patch.setattr(OrderLink, "abort", broken)
            session.clear_input()
            assert state(session, "request", listening) == "OWED"
        await trio.sleep(1.0)
        assert state(session, "request", listening) == ""


async def test_a_pipeline_that_raises_in_params_fails_the_response_it_was_asked_for() -> None:
    class Broken(EchoPipeline):
        def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
            if stage == VOICE:
                raise KeyError("voice")
            return super().params(stage, config, text)

    async with play(pipeline=Broken()) as scene:
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        done = await first.wait_for("response.done")
        assert done["response"]["status"] == "failed"
        assert state(session, "session") == "OPEN"


async def test_a_defect_ends_its_session_at_once_and_the_host_goes_on() -> None:
    async with play(defects=1) as scene:
        session, first = await scene.open()
        other, _ = await scene.open()
        scene.driver(session).dispatch(m.Prepared(99, b"never"))
        assert state(session, "session") == "CLOSED"
        assert state(other, "session") == "OPEN"
        await first.wait_over()
        assert (first.types[-1], first.events[-1]["reason"]) == ("session.closed", "internal_error")
        assert "OPEN does not list Prepared" in scene.host.defects[0]
        await scene.speak(other)


async def test_an_error_in_a_guard_is_a_defect_of_ours_that_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with play(defects=1) as scene:
        session, _ = await scene.open()
        other, _ = await scene.open()
        before = scene.driver(session).value

        def broken(value: Value, event: Message) -> Value:
            raise ZeroDivisionError("in an assignment")

        with monkeypatch.context() as patch:
            patch.setitem(APPLY, m.InterruptRequested, broken)
            session.barge_in()
        value = scene.driver(session).value
        assert (value.epoch, value.cells["session", None].data.reason) == (before.epoch + 1, "internal_error")
        assert "ZeroDivisionError" in scene.host.defects[0]
        await scene.speak(other)


async def test_a_recorder_that_fails_costs_the_trace_and_nothing_else() -> None:
    class Full(Trace):
        def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
            raise OSError("no space left on device")

        def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
            raise OSError("no space left on device")

    async with play(record=Full()) as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await first.wait_for("response.done")
        session.barge_in()
        session.close()
        await session.wait_closed()
        await first.wait_over()
        assert first.types[-1] == "session.closed"


async def test_stages_that_answer_inside_the_call_are_heard_one_after_the_other() -> None:
    async with play() as scene:
        for stage in scene.fleet.stages.values():
            stage.script.delay_s = None
        session, first = await scene.open()
        for _ in range(3):
            session.append(LOUD)
            session.commit()
        await trio.testing.wait_all_tasks_blocked()
        assert first.numbers == list(range(1, scene.driver(session).value.journal.head + 1))
        assert first.types.count("response.done") == first.types.count("response.created") == 3


async def test_numbers_are_dense_and_in_order_over_all_that_a_client_hears() -> None:
    async with play() as scene:
        session, first = await scene.open()
        for _ in range(5):
            await scene.speak(session)
            session.barge_in()
            session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()
        assert first.numbers == sorted(set(first.numbers))
        assert first.numbers[-1] == scene.driver(session).value.journal.head
