"""Our own scenarios: every operation of a session, cut at every step, beside a stage that does its worst.

``interlock sweep`` without a target runs them. Each is named for its operation and its fault: ``takeover`` is the plain
one, ``takeover_hangs`` has a stage that never confirms a clean-up. What must hold at the end of each is the same five
promises, and what the outcome of the operation says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

import trio
import trio.testing

from interlock.errors import ClientError
from interlock.proof.play import FOREIGN, GRACE_S, LOUD, Fault, Play, claims, is_stalled, playing
from interlock.proof.scenario import Scenario
from interlock.proof.trial import Trial
from interlock.proof.verdict import Outcome
from interlock.runtime.talk import Session
from interlock.wire.dialect import Ga
from interlock.wire.items import MessageItem, Part
from interlock.workers.echo import VOICE
from interlock.workers.scripted import FRAME_S

Act: TypeAlias = Callable[[Play], Awaitable[Any]]
Check: TypeAlias = Callable[[Play, Outcome], Awaitable[None]]

WRITTEN = MessageItem(role="user", content=[Part(type="input_text", text="say it again")])

GATE = (Fault.PLAIN,)
RESTED = (Fault.PLAIN, Fault.DIES)
"""Where no reply is being said, nothing is aborted, and a stage that aborts badly makes no difference."""


class Operation(NamedTuple):
    """One operation: what is there before it, what it does, what its outcome must mean, and the faults beside it.

    ``whole``: the reply of the set-up has ended. ``scopes`` are those that a sweep must have reached.
    """

    name: str
    set_up: Act
    act: Act
    check: Check
    faults: tuple[Fault, ...] = tuple(Fault)
    whole: bool = False
    scopes: tuple[str, ...] = ("host",)


async def nothing(_: Play) -> None:
    """There is no session yet."""


async def attached(play: Play) -> None:
    """A session is attached and its reply is being said."""
    await play.open()
    await play.speak(whole=False)


async def spoken(play: Play) -> None:
    """A session is attached and has said a whole reply."""
    await play.open()
    await play.speak(whole=True)


async def detached(play: Play) -> None:
    """Its transport is gone, and a whole reply is in the journal."""
    await spoken(play)
    play.subject.detach()


async def detached_midway(play: Play) -> None:
    """Its transport is gone while the reply is being said."""
    await attached(play)
    play.subject.detach()


async def rolled_back(play: Play) -> None:
    """A resume was cancelled in mid-replay."""
    await detached(play)
    stalled = play.transport()
    stalled.stall()
    stalled.allow(1)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(resume_on, play, stalled)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert play.driver.value.state("attachment") == "ROLLED_BACK"


async def unproved(play: Play) -> None:
    """It was resumed, and the client has not shown yet that it knows the new token."""
    await detached(play)
    play.session = await resume_on(play, play.transport())


async def half_dead(play: Play) -> None:
    """Its transport takes nothing more, and the world has not noticed."""
    await attached(play)
    assert play.first is not None
    play.first.stall()
    play.subject.heartbeat()
    await trio.testing.wait_all_tasks_blocked()


async def resume_on(play: Play, transport: Any) -> Session:
    """Resume with what the first client knows."""
    assert play.first is not None
    session_id, token, _ = play.first.credentials
    return await play.host.resume(session_id, token, 0, transport)


async def opened(play: Play) -> Session:
    """Open a session."""
    play.session = await play.host.open(play.cut_transport())
    return play.session


async def resumed(play: Play) -> Session:
    """Resume the session, beside whatever its stages do."""
    play.stir()
    return await resume_on(play, play.cut_transport())


async def resumed_strictly(play: Play) -> Session:
    """Resume as a strict client does: by its query, and in the GA dialect."""
    play.stir()
    assert play.first is not None
    session_id, token, _ = play.first.credentials
    return await play.host.resume(session_id, token, 0, play.cut_transport(), Ga({"resumed": True}))


async def resumed_twice(play: Play) -> None:
    """Two clients resume at once, with the same token."""

    async def one(transport: Any) -> None:
        try:
            await resume_on(play, transport)
        except FOREIGN:
            return

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, play.cut_transport())
        nursery.start_soon(one, play.transport())


def both(*acts: Act) -> Act:
    """Make an operation of several that begin at once, each of which may be refused what it asks for."""

    async def one(act: Act, play: Play) -> None:
        try:
            await act(play)
        except FOREIGN:
            return

    async def act(play: Play) -> None:
        async with trio.open_nursery() as nursery:
            for each in acts:
                nursery.start_soon(one, each, play)

    return act


def after(seconds: float, act: Act) -> Act:
    """Make an operation that begins when so much time has passed."""

    async def later(play: Play) -> None:
        await trio.sleep(seconds)
        await act(play)

    return later


async def resumed_plainly(play: Play) -> Session:
    """Resume the session on a transport that nothing happens to."""
    return await resume_on(play, play.transport())


async def worker_lost(play: Play) -> None:
    """Let the answering stage's worker die."""
    if play.fleet[VOICE].condition == "ready":
        play.fleet.lose(VOICE)


def said(what: Callable[[Session], None]) -> Act:
    """Make an operation of a plain function: it happens between two checkpoints, and cannot be cut."""

    async def act(play: Play) -> None:
        await trio.lowlevel.checkpoint()
        play.stir()
        what(play.subject)
        await trio.lowlevel.checkpoint()

    return act


async def waited_for_grace(play: Play) -> None:
    """Lose the transport, and wait until the lease runs out."""
    play.stir()
    play.subject.detach()
    await play.subject.wait_closed()


async def waited_while_idle(play: Play) -> None:
    """Wait until nothing has happened for the whole idle time."""
    play.stir()
    await play.subject.wait_closed()


async def closed(play: Play) -> None:
    """End the session, and wait for its terminal event."""
    play.stir()
    play.subject.close()
    await play.subject.wait_closed()


async def shut_down(play: Play) -> None:
    """Shut the host down."""
    play.stir()
    await play.host.shutdown()


async def either(play: Play, outcome: Outcome) -> None:
    """Whatever came of it, the world may be its only reason."""
    assert not outcome.raised or isinstance(outcome.error, FOREIGN), repr(outcome.error)


async def open_is_all_or_nothing(play: Play, outcome: Outcome) -> None:
    """AP-01, AT-12, AT-13: either somebody knows the session, or nothing of it counts."""
    await either(play, outcome)
    if not outcome.returned:
        await trio.testing.wait_all_tasks_blocked()
        knows = any("session.created" in transport.types for transport in play.transports)
        assert knows or play.host.slots == 0, "a slot is held by a session that nobody can name"


async def claim_is_all_or_nothing(play: Play, outcome: Outcome) -> None:
    """AT-01 to AT-14: a claim that did not return holds nothing, and what the client knows opens the session."""
    await either(play, outcome)
    if outcome.cancelled:
        assert not claims(play, play.transports[-1]), "the cancelled claim still carries the session"
    if outcome.returned and play.is_honest and play.first is not None:
        await trio.testing.wait_all_tasks_blocked()
        assert not play.first.is_open or is_stalled(play.first), "the superseded client reads, and was not told"
    if isinstance(outcome.value, Session) and not play.host.is_stopping and outcome.value.is_attached:
        _is_caught_up(play)
    play.let_go()
    await _what_is_known_opens(play)


def _is_caught_up(play: Play) -> None:
    """A claim that has returned has handed over its credentials, and then everything that was missed."""
    taken = [t for t in play.transports if "session.resumed" in t.types or any(e.get("resumed") for e in t.events)]
    held = [frame.seq for frame in play.driver.frames.live]
    assert any(set(held) <= set(transport.numbers) for transport in taken), f"{held} were not all handed over"


async def _what_is_known_opens(play: Play) -> None:
    """Promise 3, asked as a client would: with every token that may be the last one received."""
    value = play.driver.value
    if value.state("session") != "OPEN" or play.host.is_stopping:
        return
    known = [transport.credentials for transport in play.transports if _has_credentials(transport)]
    for session_id, token, _ in reversed(known):
        again = play.transport()
        try:
            await play.host.resume(session_id, token, value.journal.trimmed, again)
        except ClientError:
            continue
        except FOREIGN:
            return  # the session, or the host, has ended meanwhile
        assert again.numbers == sorted(set(again.numbers))
        return
    raise AssertionError("no token that the client has received opens the session")


def _has_credentials(transport: Any) -> bool:
    return any("resume_token" in event for event in transport.events)


async def known_opens(play: Play, outcome: Outcome) -> None:
    """Promise 3: what is no proof costs the client nothing."""
    await either(play, outcome)
    await _what_is_known_opens(play)


async def interrupted(play: Play, outcome: Outcome) -> None:
    """Promise 2: what was accepted has happened, at once and for good."""
    await either(play, outcome)
    if outcome.returned and play.driver.value.state("session") == "OPEN":
        assert play.driver.value.epoch >= 2
        assert not [frame for frame in play.driver.frames.live if 0 < frame.epoch < play.driver.value.epoch]


async def over(play: Play, outcome: Outcome) -> None:
    """Promise 5: it ends within its bounds, whatever hangs."""
    await either(play, outcome)
    if outcome.returned:
        assert play.driver.value.state("session") in {"QUARANTINED", "CLOSED"}


async def over_or_owed(play: Play, outcome: Outcome) -> None:
    """A shutdown that its deadline cut short says what is still owed."""
    await either(play, outcome)
    ended = play.driver.value.state("session") in {"QUARANTINED", "CLOSED"}
    assert not outcome.returned or ended or play.host.owed()
    quick = outcome.seconds < play.host.settings.shutdown_s
    assert quick or play.fault is not Fault.PLAIN or not play.is_honest, "nobody hung, and the deadline was waited for"


OPERATIONS = (
    Operation("open", nothing, opened, open_is_all_or_nothing, GATE, scopes=("host", "delivery")),
    Operation("append", attached, said(lambda s: s.append(b"\1\0" * 160)), either),
    Operation("commit", attached, said(lambda s: s.commit()), either),
    Operation("barge_in", attached, said(lambda s: s.barge_in()), interrupted),
    Operation("cancel_response", attached, said(lambda s: s.cancel_response()), interrupted),
    Operation("ack", spoken, said(lambda s: s.ack(1)), either, whole=True, faults=GATE),
    Operation("playback_ack", attached, said(lambda s: s.playback_ack("", 40)), either, GATE),
    Operation("detach", attached, said(lambda s: s.detach()), either),
    Operation("reconnect", detached, resumed, claim_is_all_or_nothing, RESTED, True, ("host", "delivery")),
    Operation("reconnect_midway", detached_midway, resumed, claim_is_all_or_nothing, scopes=("host", "delivery")),
    Operation("takeover", attached, resumed, claim_is_all_or_nothing, scopes=("host", "delivery")),
    Operation(
        "strict_takeover", attached, resumed_strictly, claim_is_all_or_nothing, GATE, scopes=("host", "delivery")
    ),
    Operation("write", attached, said(lambda s: s.create_item(WRITTEN)), either, GATE),
    Operation("two_resumes", detached, resumed_twice, claim_is_all_or_nothing, GATE, True, ("host", "delivery")),
    Operation("rolled_back", rolled_back, resumed, claim_is_all_or_nothing, GATE, True, ("host", "delivery")),
    Operation("half_dead", half_dead, resumed, claim_is_all_or_nothing, GATE, scopes=("host", "delivery")),
    Operation("unproved", unproved, said(lambda s: s.ack(1)), known_opens, GATE, True),
    Operation("grace", attached, waited_for_grace, over),
    Operation("idle", spoken, waited_while_idle, over, whole=True, faults=GATE),
    Operation("close", attached, closed, over),
    Operation("shutdown", attached, shut_down, over_or_owed),
)


BARGE_IN = said(lambda s: s.barge_in())

RACES = (
    Operation("race_resume_grace", detached, both(after(GRACE_S, resumed)), claim_is_all_or_nothing, GATE, True),
    Operation("race_two_resumes", detached, both(resumed, resumed_plainly), claim_is_all_or_nothing, GATE, True),
    Operation(
        "race_barge_in_output", attached, both(after(FRAME_S, said(lambda s: s.barge_in()))), either, (Fault.HANGS,)
    ),
    Operation("race_close_append", attached, both(closed, said(lambda s: s.append(LOUD))), either, RESTED),
    Operation("race_death_resume", attached, both(worker_lost, resumed), claim_is_all_or_nothing, GATE),
    Operation("race_death_barge_in", attached, both(worker_lost, BARGE_IN), either, GATE),
    Operation("race_death_close", attached, both(worker_lost, closed), either, GATE),
    Operation("race_resume_close", attached, both(resumed, closed), either, GATE),
)
"""What may meet: swept with `--preemptions`, in every order that so many can make."""


def _scenario(operation: Operation, fault: Fault) -> Scenario:
    async def body(trial: Trial) -> None:
        async with playing(trial, fault, whole=operation.whole) as play:
            await operation.set_up(play)
            outcome = await trial.operation(operation.act, play)
            await trial.settle(operation.check, play, outcome)
            await trio.testing.wait_all_tasks_blocked()
            play.look()

    name = operation.name if fault is Fault.PLAIN else f"{operation.name}_{fault}"
    return Scenario(name, body, depth=1, scopes=operation.scopes, leaves_tasks=True)


SCENARIOS = {made.name: made for op in (*OPERATIONS, *RACES) for fault in op.faults for made in [_scenario(op, fault)]}
"""Every scenario by its name."""

CANONICAL = ("takeover", "reconnect")
"""The canonical cases, each cancelled during activation and during replay: `--full` sweeps them in threes."""

PLAIN = tuple(operation.name for operation in OPERATIONS)
"""Each operation beside stages that do as they should: these are swept in pairs by the gate."""

RACING = tuple(name for name in SCENARIOS if name.startswith("race_"))
"""The races, which are swept with preemptions."""

globals().update(SCENARIOS)
