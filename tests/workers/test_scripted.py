"""The scripted fleet: it does what it is told, at the moment it is told, and shows what it holds."""

from __future__ import annotations

from typing import Literal

import pytest
import trio
import trio.testing

from interlock.runtime.ports import (
    Aborted,
    AbortRefused,
    Accepted,
    Consumed,
    Failed,
    Finished,
    Output,
    Refused,
    Reply,
    StageLink,
)
from interlock.workers.protocol import Abort, Append, Finish, Submit
from interlock.workers.scripted import FRAME_SAMPLES, Handed, Script, ScriptedFleet, ScriptedStage
from tests.workers.recorder import Recorder

SPEECH = b"\0\1" * 480
SILENCE = bytes(960)


class Played:
    """A fleet of one stage that runs in a test's nursery, and what it tells."""

    def __init__(self, script: Script | None = None) -> None:
        self.fleet = ScriptedFleet("ears")
        self.fleet["ears"].script = script or Script()
        self.sink = Recorder()

    @property
    def stage(self) -> ScriptedStage:
        return self.fleet["ears"]

    @property
    def link(self) -> StageLink:
        link = self.fleet.link("ears")
        assert link is not None
        return link

    def said(self) -> list[Reply]:
        """Return what was replied since the last time."""
        replies = list(self.sink.replies)
        self.sink.replies.clear()
        return replies

    async def settled(self) -> list[Reply]:
        """Return the same, once nothing more happens without time passing."""
        await trio.testing.wait_all_tasks_blocked()
        return self.said()


async def play(nursery: trio.Nursery, script: Script | None = None) -> Played:
    played = Played(script)
    nursery.start_soon(played.fleet.run, played.sink)
    await played.sink.until_told(("ready", "ears", 1))
    return played


async def test_a_stage_accepts_and_confirms_by_itself(nursery: trio.Nursery) -> None:
    played = await play(nursery)
    played.link.submit("r1", 1, {"a": 1})
    assert played.said() == []
    assert await played.settled() == [Accepted("r1")]
    assert played.fleet.held == 1
    played.link.append("r1", b"abc")
    played.link.abort(["r1", "never"])
    assert await played.settled() == [Consumed("r1", 3), Aborted("r1"), Aborted("never")]
    assert played.fleet.held == 0


async def test_answers_may_come_inside_the_call(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(delay_s=None, texts=("Hello.",)))
    played.link.submit("r1", 4, {})
    assert played.said() == [Accepted("r1"), Output("r1", 4, "text", b"Hello."), Finished("r1")]


async def test_answers_may_take_their_time(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(delay_s=3.0))
    played.link.submit("r1", 1, {})
    assert await played.settled() == []
    start = trio.current_time()
    await played.sink.until_replied([Accepted("r1")])
    assert trio.current_time() - start == 3.0


@pytest.mark.parametrize(
    ("submit", "replies", "held"),
    [("refuse", [Refused("r1", "scripted")], 0), ("hang", [], 1), ("fail", [Failed("r1", "scripted")], 1)],
)
async def test_a_submit_has_any_outcome(
    nursery: trio.Nursery, submit: Literal["refuse", "hang", "fail"], replies: list[Reply], held: int
) -> None:
    played = await play(nursery, Script(submit=submit))
    played.link.submit("r1", 1, {})
    assert await played.settled() == replies
    assert played.fleet.held == held
    played.link.abort(["r1"])
    assert await played.settled() == [Aborted("r1")]
    assert played.fleet.held == 0


async def test_a_submit_that_hangs_is_answered_when_the_test_says_so(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(submit="hang"))
    played.link.submit("r1", 1, {})
    played.link.submit("r2", 1, {})
    await played.settled()
    played.stage.accept("r1")
    played.stage.refuse("r2")
    assert played.said() == [Accepted("r1"), Refused("r2", "scripted")]
    assert list(played.stage.held) == ["r1"]


async def test_over_capacity_is_refused(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(capacity=1))
    played.link.submit("r1", 1, {})
    played.link.submit("r2", 1, {})
    assert await played.settled() == [Accepted("r1"), Refused("r2", "full")]


async def test_so_many_aborts_fail_then_one_is_confirmed_under_the_same_id(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(abort_failures=2))
    played.link.submit("r1", 1, {})
    for _ in range(3):
        played.link.abort(["r1"])
    refused = AbortRefused("r1", "scripted")
    assert await played.settled() == [Accepted("r1"), refused, refused, Aborted("r1")]


async def test_an_abort_that_hangs_holds_the_request_until_it_is_confirmed_late(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(abort="hang"))
    played.link.submit("r1", 1, {})
    played.link.abort(["r1"])
    assert await played.settled() == [Accepted("r1")]
    assert played.fleet.held == 1
    played.stage.confirm("r1")
    assert (played.said(), played.fleet.held) == ([Aborted("r1")], 0)


async def test_output_may_come_after_the_abort_was_confirmed(nursery: trio.Nursery) -> None:
    played = await play(nursery)
    played.link.submit("r1", 9, {})
    played.link.abort(["r1"])
    await played.settled()
    played.stage.output("r1", "text", b"late")
    assert played.said() == [Output("r1", 9, "text", b"late")]


async def test_frames_come_one_each_40_ms_the_first_ones_ahead(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(frames=5, ahead=2))
    times: list[float] = []
    start = trio.current_time()
    played.link.submit("r1", 1, {})
    for count in range(2, 6):
        await played.sink.until(lambda due=count: len(played.sink.of(Output)) >= due)  # type: ignore[misc]
        times.append(round(trio.current_time() - start, 6))
    assert times == [0.0, 0.04, 0.08, 0.12]
    frames = played.sink.of(Output)
    assert [frame.at_ms for frame in frames] == [0, 40, 80, 120, 160]
    assert {len(frame.payload) for frame in frames} == {2 * FRAME_SAMPLES}
    assert await played.settled() == [Accepted("r1"), *frames, Finished("r1")]
    assert played.fleet.held == 0


async def test_frames_stop_when_the_request_is_aborted(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(frames=100, begins="input"))
    played.link.submit("r1", 1, {})
    assert await played.settled() == [Accepted("r1")]
    played.link.append("r1", b"Hello.")
    await played.sink.until(lambda: len(played.sink.of(Output)) == 3)
    played.link.abort(["r1"])
    await played.sink.until_replied([Aborted("r1")])
    await trio.sleep(10.0)
    assert len(played.sink.of(Output)) == 3


async def test_a_stage_that_listens_hears_what_is_not_silence_and_answers_the_commit(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(transcript="good day"))
    played.link.submit("r1", 1, {})
    played.link.append("r1", SILENCE)
    assert await played.settled() == [Accepted("r1"), Consumed("r1", 960)]
    played.link.append("r1", SPEECH)
    assert await played.settled() == [Consumed("r1", 960), Output("r1", 1, "speech_started")]
    played.link.finish("r1")
    assert await played.settled() == [
        Output("r1", 1, "speech_stopped"),
        Output("r1", 1, "transcript", b"good day", reason="commit"),
    ]
    played.link.finish("r1")
    assert await played.settled() == [Output("r1", 1, "transcript", b"", reason="commit")]


async def test_a_test_may_hear_and_say_in_the_stages_place(nursery: trio.Nursery) -> None:
    played = await play(nursery)
    played.link.submit("r1", 2, {})
    await played.settled()
    played.stage.hear("r1", "speech_started", at_ms=120)
    played.stage.say("r1", "stop")
    assert played.said() == [Output("r1", 2, "speech_started", at_ms=120), Output("r1", 2, "transcript", b"stop")]


async def test_input_that_is_not_taken_is_consumed_when_the_test_says_so(nursery: trio.Nursery) -> None:
    played = await play(nursery, Script(takes_input=False))
    played.link.submit("r1", 1, {})
    played.link.append("r1", b"ab")
    played.link.append("r1", b"cde")
    assert await played.settled() == [Accepted("r1")]
    played.stage.consume("r1")
    assert played.said() == [Consumed("r1", 2), Consumed("r1", 3)]


async def test_a_worker_is_lost_then_gone_then_back_with_a_higher_incarnation(nursery: trio.Nursery) -> None:
    played = await play(nursery)
    link = played.link
    link.submit("r1", 1, {})
    await played.settled()
    played.fleet.lose("ears")
    assert played.fleet.link("ears") is None
    assert (played.fleet.held, played.fleet.owed()[0]["state"]) == (1, "LOST")
    link.submit("r2", 1, {})
    link.abort(["r1"])
    played.fleet.gone("ears")
    assert (played.fleet.held, list(played.fleet.owed())) == (0, [])
    played.fleet.come_back("ears")
    assert await played.settled() == []
    assert played.sink.told == [("ready", "ears", 1), ("lost", "ears", 1), ("gone", "ears", 1), ("ready", "ears", 2)]
    assert (link.incarnation, played.link.incarnation) == (1, 2)


async def test_an_answer_that_was_on_its_way_dies_with_its_worker(nursery: trio.Nursery) -> None:
    played = await play(nursery)
    played.link.submit("r1", 1, {})
    played.fleet.gone("ears")
    played.fleet.come_back("ears")
    assert await played.settled() == []


async def test_every_order_is_recorded_as_it_was_handed_over(nursery: trio.Nursery) -> None:
    played = await play(nursery)
    link = played.link
    link.submit("r1", 1, {"voice": "alto"})
    link.append("r1", b"abc")
    link.finish("r1")
    link.abort(["r1"])
    assert played.fleet.orders == [
        Handed("ears", 1, Submit("r1", 1, {"voice": "alto"})),
        Handed("ears", 1, Append("r1", b"abc")),
        Handed("ears", 1, Finish("r1")),
        Handed("ears", 1, Abort(["r1"])),
    ]
    assert played.fleet.orders_of(Abort) == [Abort(["r1"])]


async def test_stop_ends_what_is_ready_and_waits_for_what_is_lost(nursery: trio.Nursery) -> None:
    fleet, sink, ended = ScriptedFleet("ears", "mind"), Recorder(), trio.Event()

    async def run() -> None:
        await fleet.run(sink)
        ended.set()

    nursery.start_soon(run)
    await sink.until_told(("ready", "mind", 1))
    fleet.lose("mind")
    fleet.stop()
    await trio.testing.wait_all_tasks_blocked()
    assert sink.told[-2:] == [("lost", "ears", 1), ("gone", "ears", 1)]
    assert list(fleet.owed()) == [{"stage": "mind", "state": "LOST", "incarnation": 1}]
    assert not ended.is_set()
    fleet.gone("mind")
    await ended.wait()


async def test_a_cancel_of_run_ends_what_is_ready_and_propagates() -> None:
    fleet, sink = ScriptedFleet("ears", absent=["ears"]), Recorder()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fleet.run, sink)
            await trio.testing.wait_all_tasks_blocked()
            assert sink.told == []
            fleet.come_back("ears")
            scope.cancel()
    assert scope.cancelled_caught
    assert sink.told == [("ready", "ears", 1), ("lost", "ears", 1), ("gone", "ears", 1)]


async def test_the_same_orders_have_the_same_outcome_every_time(nursery: trio.Nursery) -> None:
    logs = []
    for _ in range(5):
        fleet, sink = ScriptedFleet("a", "b", "c", record=False), Recorder()
        for name in "abc":
            fleet[name].script = Script(frames=4, texts=("x",))
        nursery.start_soon(fleet.run, sink)
        await sink.until_told(("ready", "c", 1))
        for name in "abcabcabc":
            link = fleet.link(name)
            assert link is not None
            link.submit(f"{name}{len(fleet[name].held)}", 1, {})
        await sink.until(lambda log=sink: len(log.of(Finished)) == 9)  # type: ignore[misc]
        logs.append(sink.log)
        assert (fleet.held, fleet.orders) == (0, [])
    assert logs[1:] == logs[:-1]
