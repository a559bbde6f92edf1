"""The overview: who sends what to whom, the same whichever order the files came in."""

from __future__ import annotations

import random

from interlock.draw.mermaid import mermaid_overview
from interlock.draw.overview import overview
from interlock.draw.talk import Part, Talk, downwards, hears, orders, own, parts, talks
from interlock.spec.plan import Blueprint
from tests.draw.test_layout import MACHINES
from tests.spec.house import house

HOUSE = house()


def test_machines_talk_by_what_their_rows_emit() -> None:
    assert talks(HOUSE) == (Talk("bell", "door", ("BellAnswered",)), Talk("door", "bell", ("BellRung",)))


def test_a_box_says_what_comes_from_outside_and_what_it_orders() -> None:
    bell, door = parts(HOUSE)
    assert bell == Part("bell", "One ring of the bell.", "ring_id", (("host", ("BellHeard",)),), ("PlaySound",))
    assert hears(door, ()) == [
        "from client: OpenAsked, ShutAsked",
        "from motor: MotorDone",
        "from host: DoorRemoved",
        "from timer: MotorOverdue, OpenOverdue",
    ]
    assert orders(door) == ["orders StartMotor"]


def test_what_a_machine_sends_to_itself_stands_in_its_box() -> None:
    fence = next(part for part in parts(MACHINES) if part.name == "fence")
    assert own(fence, talks(MACHINES)) == ("EpochOpened",)
    assert "from itself: EpochOpened" in hears(fence, ("EpochOpened",))
    assert '"fence -> fence"' not in overview(MACHINES)


def test_every_message_between_two_machines_is_an_arrow() -> None:
    text = overview(MACHINES)
    for sender, receiver, messages in talks(MACHINES):
        assert sender == receiver or f'"{sender} -> {receiver}" [shape=plain' in text
        assert all(name in text for name in messages)


def test_most_messages_lead_down_and_a_ring_ends() -> None:
    assert downwards(talks(HOUSE)) == ("bell", "door")
    assert downwards(()) == ()
    chain = [Talk(f"m{at:05}", f"m{at + 1:05}", ("X",)) for at in range(5000)]
    assert downwards(chain)[0] == "m00000"
    assert len(downwards(chain)) == 5001


def test_the_order_of_files_says_nothing() -> None:
    plans = list(MACHINES.plans)
    for seed in range(5):
        random.Random(seed).shuffle(plans)
        shuffled = Blueprint(tuple(plans))
        assert overview(shuffled) == overview(MACHINES)
        assert mermaid_overview(shuffled) == mermaid_overview(MACHINES)
