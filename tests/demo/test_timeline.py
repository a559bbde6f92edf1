from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import trio
import trio.testing

from interlock.demo.timeline import Follower, Timeline


def record(at: float, event: str, machine: str, start: str, end: str) -> str:
    row: dict[str, Any] = {"machine": machine, "key": None, "event": {"type": event}, "from": start, "to": end}
    return json.dumps({"at": at, "session": "s", "event": {"type": event}, "rows": [row]}) + "\n"


OPENED = record(1000.0, "Opened", "attachment", "DETACHED", "ACTIVATING")
ACTIVATED = record(1000.5, "ActivationDelivered", "attachment", "ACTIVATING", "REPLAYING")
REPLAYED = record(1000.75, "ReplayDelivered", "attachment", "REPLAYING", "ATTACHED")


async def test_lines_come_in_the_order_of_their_times(nursery: trio.Nursery) -> None:
    lines: list[str] = []
    timeline = Timeline(lines.append)
    nursery.start_soon(timeline.run)
    await trio.sleep(1.0)
    timeline.say("later", "b")
    timeline.say("sooner", "a", 0.9)
    assert lines == []
    await trio.sleep(1.0)
    assert lines == ["   0.90  sooner    a", "   1.00  later     b"]


async def test_a_trace_is_followed_while_it_grows_and_its_clock_is_joined(tmp_path: Path) -> None:
    lines: list[str] = []
    timeline = Timeline(lines.append)
    follower = Follower(tmp_path, timeline)
    path = tmp_path / "trace-0001.jsonl"
    path.write_text('{"trace":1,"tables":{}}\n' + OPENED + ACTIVATED + REPLAYED[:20])
    await trio.sleep(2.0)
    follower.catch_up()
    assert timeline.notes == []
    follower.join()
    follower.catch_up()
    path.write_text('{"trace":1,"tables":{}}\n' + OPENED + ACTIVATED + REPLAYED)
    follower.catch_up()
    assert [(note.at, note.what) for note in timeline.notes] == [
        (1.5, "DETACHED -> ACTIVATING  (Opened)"),
        (2.0, "ACTIVATING -> REPLAYING  (ActivationDelivered)"),
        (2.25, "REPLAYING -> ATTACHED  (ReplayDelivered)"),
    ]
