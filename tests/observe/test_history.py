"""What pages look at: how much of a session is kept, for whom, and that what is kept replays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import ClientError
from interlock.machine import Message
from interlock.observe.follower import Follower
from interlock.observe.history import Bounds, History, trouble
from interlock.observe.trace import Trace
from interlock.proof.replay import Replay
from interlock.proof.replay_input import Input
from interlock.proof.replay_target import Target
from interlock.session.books import Sequenced
from interlock.session.decide import decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import messages as m

SETTINGS = Settings()


class Life:
    """A session whose events a history is told of."""

    def __init__(self, history: History, name: str = "sess_1") -> None:
        self.history = history
        self.value = new_value(name, SETTINGS)
        self.at = 1.0

    def take(self, *events: Message) -> Value:
        """Let events happen, one a second."""
        for event in events:
            decision = decide(self.value, event)
            self.history.decided(self.at, self.value, event, decision)
            self.value, self.at = decision.value, self.at + 1.0
        return self.value

    def open(self) -> Value:
        """Open, and attach."""
        return self.take(m.Prepared(1, b"secret" * 5), m.ActivationDelivered(1), m.ReplayDelivered(1))

    def end(self) -> Value:
        """End."""
        return self.take(m.TransportLost(1, "reset"), m.GraceExpired())


def told(lines: bytes) -> list[dict[str, Any]]:
    """Decode what a follower took."""
    return [json.loads(line) for line in lines.splitlines()]


def follow(history: History, value: Value) -> Follower:
    """Follow, with a wake that is not looked at."""
    return history.follow(value, 9.0, lambda: None)


def replayed(trace: bytes, folder: Path) -> Replay:
    """Replay what was kept of a session."""
    path = folder / "trace.jsonl"
    path.write_bytes(trace)
    replay = Replay(Target())
    Input(replay, Target(), lambda *_: None).read([str(path)])
    return replay


def test_everything_is_passed_on() -> None:
    trace = Trace()
    life = Life(History(trace))
    life.open()
    with pytest.raises(ClientError) as refusal:
        decide(life.value, m.CancelRequested("resp_never"))
    life.history.refused(5.0, life.value, m.CancelRequested("resp_never"), refusal.value.code)
    life.history.voided(6.0, "sess_1", 1, [4], [3])
    kinds = ["voided" if "voided" in record else record["event"]["type"] for record in trace.records]
    assert kinds == ["Prepared", "ActivationDelivered", "ReplayDelivered", "CancelRequested", "voided"]
    assert trace.records[3]["refused"] == "response_not_active"


def test_who_comes_at_once_sees_how_it_began() -> None:
    life = Life(History(Trace()))
    value = life.open()
    follower = follow(life.history, value)
    life.take(m.TransportLost(1, "reset"))
    records = told(follower.take())
    assert "value" in records[0]
    assert [record["event"]["type"] for record in records[1:]] == [
        "Prepared",
        "ActivationDelivered",
        "ReplayDelivered",
        "TransportLost",
    ]
    assert follower.take() == b""


def test_of_a_session_that_nobody_follows_only_the_beginning_is_kept_for_a_while() -> None:
    life = Life(History(Trace(), bounds=Bounds(opening=10)))
    life.open()
    life.take(*[Sequenced()] * 20)
    assert life.history.books == {}
    follower = follow(life.history, life.value)
    life.take(Sequenced())
    first, second = told(follower.take())
    assert first["value"]["journal"] == [20, 0, 0]
    assert second["journal"] == [21, 0, 0]
    life.history.leave(follower)
    assert life.history.books == {}


def test_a_follower_that_is_slow_loses_records_and_begins_anew() -> None:
    """Its slowness costs memory up to the limit, and nobody else anything."""
    history = History(Trace())
    life = Life(history)
    quick = follow(history, life.open())
    slow = Follower("sess_1", [], lambda: None, lambda: b'{"value":1}\n', limit=500)
    history.books["sess_1"].followers.add(slow)
    taken = [told(quick.take())]
    for _ in range(100):
        life.take(Sequenced())
        taken.append(told(quick.take()))
    assert [len(records) for records in taken[1:]] == [1] * 100
    assert slow.gaps == 1
    assert told(slow.take())[0] == {"value": 1}
    life.take(Sequenced())
    assert told(slow.take())[0]["event"]["type"] == "Sequenced"


def test_what_is_kept_of_a_session_replays_from_its_beginning(tmp_path: Path) -> None:
    life = Life(History(Trace(), everything=True))
    life.open()
    replay = replayed(life.history.books["sess_1"].trace(), tmp_path)
    assert (replay.findings, replay.events) == ([], 3)


def test_two_parts_are_kept_and_replay_without_what_went_before(tmp_path: Path) -> None:
    life = Life(History(Trace(), everything=True, bounds=Bounds(part_bytes=6000)))
    life.open()
    life.take(*[Sequenced()] * 200)
    book = life.history.books["sess_1"]
    assert len(book.parts) == 2
    assert book.parts[0].number > 1
    replay = replayed(book.trace(), tmp_path)
    assert replay.findings == []
    assert 0 < replay.events < 203
    assert replay.judged == 1


def test_a_session_that_is_followed_from_its_middle_does_not_pretend_to_begin(tmp_path: Path) -> None:
    life = Life(History(Trace(), bounds=Bounds(opening=1)))
    life.open()
    follower = follow(life.history, life.value)
    life.take(Sequenced())
    trace = life.history.books["sess_1"].trace()
    assert json.loads(trace.splitlines()[0])["part"] == 2
    assert replayed(trace, tmp_path).findings == []
    life.history.leave(follower)


def test_ended_sessions_are_kept_in_number_and_finished_parts_in_bytes() -> None:
    history = History(Trace(), everything=True, bounds=Bounds(part_bytes=3000, all_bytes=20_000, ended=3))
    lives = [Life(history, f"sess_{number}") for number in range(30)]
    for life in lives:
        life.open()
        life.take(*[Sequenced()] * 40)
    finished = [book.parts[0].size for book in history.books.values() if len(book.parts) > 1]
    assert 0 < sum(finished) <= 20_000
    assert len(history._finished) == len(finished)
    assert len(history.books) == 30
    for life in lives:
        life.end()
    assert list(history.books) == ["sess_27", "sess_28", "sess_29"]
    assert history.touched >= {life.value.session_id for life in lives}


def test_the_last_trouble_is_told() -> None:
    life = Life(History(Trace(), everything=True))
    life.open()
    assert life.history.books["sess_1"].error == ""
    life.take(m.ListenRequested("sess_1.listen1", "ears"), m.WorkerAssigned("sess_1.listen1", 1))
    refusal = decide(life.value, m.SubmitRefused("sess_1.listen1", 1, "full"))
    assert trouble(refusal) == "SubmitRefused: full"
    life.take(m.SubmitRefused("sess_1.listen1", 1, "full"))
    assert life.history.books["sess_1"].error == "SubmitRefused: full"
