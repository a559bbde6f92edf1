"""``decide``: pure, whole or not at all, one terminal for each response and for the session, and in what order."""

from __future__ import annotations

import copy

import pytest

from interlock.errors import ClientError, Defect, LimitReached
from interlock.machine import Cancelled, Message
from interlock.session.decide import decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import messages as m
from interlock.wire.lifecycle import EXPANSIONS
from tests.session.values import FIRST, STAGES, after, answering, asked, attached, detached, kinds, listening

EVENTS: list[Message] = [
    m.ResumeRequested(2, FIRST, 0, b"token 2"),
    m.ResumeRequested(2, b"wrong", 0, b"token 2"),
    m.TransportLost(1, "reset"),
    m.TurnHeard("resp_2", STAGES),
    m.InterruptRequested("turn_detected"),
    m.CancelRequested(""),
    m.StageLost("voice", 1),
    m.StageGone("mind", 1),
    m.CloseRequested("client_close"),
    m.EndRequested("server_shutdown"),
    m.IdleDue(300.0),
    m.RequestFailed("resp_1.mind", 1, "oom"),
    Cancelled("attachment", None, 1),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_the_same_value_and_event_give_the_same_decision_and_stay_as_they_were(event: Message) -> None:
    value = listening(answering(attached()))
    before, cells = copy.deepcopy(value), dict(value.cells)
    first, second = decide(value, event), decide(value, event)
    assert first == second
    assert value == before
    assert value.cells == cells


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (m.CancelRequested("resp_never"), ClientError),
        (m.TurnHeard("resp_2", STAGES), LimitReached),
        (m.ListenRequested("listen_2", "ears"), LimitReached),
        (m.Prepared(9, b"again"), Defect),
    ],
)
def test_what_is_refused_changes_nothing(event: Message, error: type[Exception]) -> None:
    """The turn would have superseded the one before it, had its own requests found room."""
    value = listening(answering(attached(Settings(max_requests=3))))
    before = copy.deepcopy(value)
    with pytest.raises(error):
        decide(value, event)
    assert value == before


def test_an_interrupt_makes_everything_stale_before_anybody_is_told() -> None:
    """FE-24: epoch first, then the deltas, then the client, then the stages."""
    effects = decide(answering(attached()), m.InterruptRequested("client_cancelled")).effects
    names = [type(effect).__name__ for effect in effects if type(effect).__name__ not in {"ArmTimer", "DisarmTimer"}]
    assert names == ["AdvanceEpoch", "VoidOutput", "AppendEvent", "StopWork", "StartWork", "StopWork", "StartWork"]
    assert [effect for effect in effects if isinstance(effect, m.AdvanceEpoch | m.VoidOutput)] == [
        m.AdvanceEpoch(2),
        m.VoidOutput(1),
    ]
    assert kinds(effects) == ["response.done"]


def test_two_interrupts_in_quick_succession_are_two_fences() -> None:
    value = after(answering(attached()), m.InterruptRequested("turn_detected"))
    value = after(answering(value, 2), m.InterruptRequested("turn_detected"))
    fences = {key: (cell.state, cell.data.ids) for (name, key), cell in value.cells.items() if name == "fence"}
    assert fences == {
        1: ("CANCELLING", ("resp_1.mind", "resp_1.voice")),
        2: ("CANCELLING", ("resp_2.mind", "resp_2.voice")),
        3: ("OPEN", ()),
    }


def test_a_failure_is_told_before_the_response_that_it_ends_and_that_before_the_session() -> None:
    """I4: error, response terminal, session terminal; each once."""
    value = answering(attached())
    failed = decide(value, m.RequestFailed("resp_1.mind", 1, "oom"))
    assert kinds(failed.effects) == ["error", "response.done"]
    heard: list[str] = []
    value = failed.value
    for event in (
        m.CloseRequested("client_close"),
        m.AbortConfirmed("resp_1.voice", 1),
        m.AbortConfirmed("resp_1.mind", 1),
        m.EndRequested("server_shutdown"),
        m.StageGone("voice", 1),
    ):
        decision = decide(value, event)
        value, heard = decision.value, heard + kinds(decision.effects)
    assert heard == ["session.closed"]
    assert value.state("session") == "CLOSED"


def test_a_close_ends_the_response_first_and_the_session_when_all_is_given_back() -> None:
    closing = decide(answering(attached()), m.CloseRequested("client_close"))
    assert kinds(closing.effects) == ["response.done"]
    half = decide(closing.value, m.AbortConfirmed("resp_1.mind", 1))
    assert (kinds(half.effects), half.value.state("session")) == ([], "CLOSING")
    whole = decide(half.value, m.AbortConfirmed("resp_1.voice", 1))
    assert (kinds(whole.effects), whole.value.state("session")) == (["session.closed"], "CLOSED")
    assert whole.effects[-1] == m.FinishTransport(1, "client_close")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("client_close", "output_backpressure", "output_backpressure"),
        ("client_close", "server_shutdown", "server_shutdown"),
        ("output_backpressure", "server_shutdown", "server_shutdown"),
        ("output_backpressure", "internal_error", "output_backpressure"),
        ("server_shutdown", "output_backpressure", "server_shutdown"),
        ("idle_ttl_expired", "server_shutdown", "server_shutdown"),
    ],
)
def test_ends_merge_and_a_stronger_one_pre_empts(first: str, second: str, told: str) -> None:
    value = answering(attached())
    ends = {"client_close": m.CloseRequested(first), "idle_ttl_expired": m.IdleDue(300.0)}
    if first == "idle_ttl_expired":
        value = listening(attached())
    value = after(
        value, ends.get(first, m.EndRequested(first)), m.EndRequested(second), m.CloseRequested("client_close")
    )
    assert value.state("session") == "CLOSING"
    effects = decide(value, m.CleanupOverdue()).effects
    terminals = [e for e in effects if isinstance(e, m.AppendEvent)]
    assert [(e.kind, e.reason) for e in terminals] == [("session.closed", told)]
    assert [e for e in effects if isinstance(e, m.FinishTransport)] == [m.FinishTransport(1, told)]


def test_promise_5_nothing_follows_the_terminal_of_a_session_in_quarantine() -> None:
    value = after(listening(answering(attached())), m.CloseRequested("client_close"), m.CleanupOverdue())
    assert (value.state("session"), value.holds_slot) == ("QUARANTINED", True)
    head = value.journal.head
    effects: list[Message] = []
    for event in (
        m.EndRequested("server_shutdown"),
        m.CloseRequested("client_close"),
        m.AbortFailed("resp_1.mind", 1, "stuck"),
        m.StageLost("ears", 1),
        m.TurnHeard("resp_9", STAGES),
        *(m.StageGone(stage, 1) for stage in ("ears", *STAGES)),
    ):
        decision = decide(value, event)
        value, effects = decision.value, [*effects, *decision.effects]
    assert (kinds(tuple(effects)), value.journal.head) == ([], head)
    assert (value.state("session"), value.holds_slot) == ("CLOSED", False)


def test_every_lifecycle_event_takes_as_many_numbers_as_it_has_frames() -> None:
    value = attached()
    decision = decide(value, m.TurnHeard("resp_1", STAGES))
    (created,) = [effect for effect in decision.effects if isinstance(effect, m.AppendEvent)]
    assert created.seq == 1
    assert decision.value.journal.head == len(EXPANSIONS["response.created"])
    ended = decide(decision.value, m.CancelRequested("resp_1"))
    (done,) = [effect for effect in ended.effects if isinstance(effect, m.AppendEvent)]
    assert done.seq == decision.value.journal.head + 1


@pytest.mark.parametrize("evicting", [0, 1, 2, 3])
def test_at_15_only_so_many_transports_may_still_say_goodbye(evicting: int) -> None:
    value = attached(Settings(max_evicting=2))
    for claim in range(2, 2 + evicting):
        value = after(value, m.ResumeRequested(claim, FIRST, 0, f"token {claim}".encode()))
    effects = decide(value, m.ResumeRequested(99, FIRST, 0, b"token 99")).effects
    (evicted,) = [effect for effect in effects if isinstance(effect, m.EvictTransport)]
    assert evicted == m.EvictTransport(1 + evicting, at_once=evicting >= 2)


def test_at_06_at_07_an_old_generation_reports_nothing_any_more() -> None:
    value = after(attached(), m.ResumeRequested(2, FIRST, 0, b"token 2"))
    for event in (m.TransportLost(1, "reset"), m.ReplayDelivered(1), Cancelled("attachment", None, 1)):
        decision = decide(value, event)
        assert decision.effects == ()
        assert decision.value == value._replace(stale=value.stale + 1)


def test_at_13_credentials_that_were_cut_short_end_the_session() -> None:
    opening = after(new_value("sess_1", Settings()), m.Prepared(1, FIRST))
    for cut in (m.TransportLost(1, "reset"), Cancelled("attachment", None, 1)):
        value = after(opening, cut)
        assert (value.state("session"), value.state("attachment"), value.holds_slot) == ("CLOSED", "CLOSED", False)
        assert value.closing == (1,)


def test_at_02_a_rollback_restores_the_grace_and_keeps_the_presented_token() -> None:
    claimed = after(detached(), m.ResumeRequested(2, FIRST, 0, b"token 2"))
    assert (claimed.state("attachment"), claimed.state("lease")) == ("ACTIVATING", "HELD")
    for lost in (m.TransportLost(2, "reset"), Cancelled("attachment", None, 2)):
        value = after(claimed, lost)
        assert (value.state("attachment"), value.state("lease")) == ("ROLLED_BACK", "GRACE")
        assert after(value, m.ResumeRequested(3, FIRST, 0, b"token 3")).state("attachment") == "ACTIVATING"


def test_a_run_that_is_too_long_is_a_defect_and_changes_nothing() -> None:
    value = attached()
    cramped = value._replace(settings=value.settings.model_copy(update={"max_steps": 3}))
    with pytest.raises(Defect, match="over 3 deliveries"):
        decide(cramped, m.TurnHeard("resp_1", STAGES))


@pytest.mark.parametrize("end", [m.EndRequested("server_shutdown"), m.StageGone("ears", 1), m.StageLost("ears", 1)])
def test_a_session_that_is_full_can_always_be_ended_within_its_steps(end: Message) -> None:
    value = attached(Settings(max_requests=60, max_responses=1, max_fences=31, max_steps=600))
    for number in range(29):
        value = answering(value, number + 1)
    for number in range(2):
        value = after(value, m.ListenRequested(f"listen_{number}", "ears"), m.WorkerAssigned(f"listen_{number}", 1))
    assert sum(name == "request" for name, _ in value.cells) == 60
    assert len(decide(value, end).taken) <= 600


def test_fe_21_a_cancel_of_what_has_ended_changes_nothing_and_is_no_error() -> None:
    value: Value = after(asked(attached()), m.CancelRequested("resp_1"))
    assert decide(value, m.CancelRequested("resp_1")).value == value
    with pytest.raises(ClientError, match="response_not_active"):
        decide(value, m.CancelRequested(""))


@pytest.mark.parametrize("lose", [False, True], ids=["HELD", "GRACE"])
def test_another_idle_time_counts_whether_or_not_somebody_is_attached(lose: bool) -> None:
    value = detached() if lose else attached()
    told = after(value, m.IdleRequested(7.5))
    assert told.cells["lease", None].state == ("GRACE" if lose else "HELD")
    assert told.cells["lease", None].data.idle_s == 7.5


def test_a_weaker_reason_does_not_take_the_place_of_a_stronger_one() -> None:
    closing = after(listening(answering(attached())), m.EndRequested("server_shutdown"))
    assert closing.state("session") == "CLOSING"
    assert after(closing, m.EndRequested("client_close")).cells["session", None].data.reason == "server_shutdown"
    gone = after(listening(answering(attached())), m.CloseRequested("client_close"))
    assert after(gone, m.EndRequested("server_shutdown")).cells["session", None].data.reason == "server_shutdown"


SAYS = [
    *((False, event) for event in (Cancelled("request", "listen_1", 1), m.AbortConfirmed("listen_1", 1))),
    *((True, event) for event in (Cancelled("request", "listen_1", 1), m.AbortConfirmed("listen_1", 1))),
    (True, m.SubmitRefused("listen_1", 1, "full")),
    (True, m.RequestGone("listen_1", 1, "died")),
]
"""What the world in which a stage listens does without."""


@pytest.mark.parametrize(("runs", "event"), SAYS, ids=str)
def test_a_request_that_listens_and_fails_says_so_whatever_has_failed(runs: bool, event: Message) -> None:
    value = after(attached(), m.ListenRequested("listen_1", "ears"), m.WorkerAssigned("listen_1", 1))
    value = after(value, m.SubmitAccepted("listen_1", 1)) if runs else value
    assert value.state("request", "listen_1") == ("RUNNING" if runs else "SUBMITTING")
    decision = decide(value, event)
    assert any(isinstance(taken.message, m.ListenFailed) for taken in decision.taken)
    assert [effect.kind for effect in decision.effects if isinstance(effect, m.AppendEvent)] == ["error"]
