"""What the tests of all clients do with a puppet, and how they read what it saw."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from tests.clients.puppet import Event, Puppet

SPEECH: Final = bytes([1, 0]) * 4800
"""200 ms at 24 kHz: what the scripted ears take for speech."""
SHORT: Final = ("--scripted", "6")
LONG: Final = ("--scripted", "50", "--ahead", "5")
"""Two seconds of reply at its pace, so that there is something to interrupt."""


async def ready(talking: Puppet, turns: str) -> None:
    """Wait until the session takes its turns as the client wants it: by ``vad``, or ``manual``."""
    await talking.until("session.created" if turns == "vad" else "session.updated", lambda e: takes_turns(e) == turns)


def takes_turns(event: Event) -> str:
    """Return how the session of an event takes its turns."""
    return "manual" if event["session"]["audio"]["input"]["turn_detection"] is None else "vad"


async def ask(talking: Puppet) -> None:
    """Say something, end the turn by hand, and ask for the answer in the same breath, as these SDKs do."""
    await talking.append(SPEECH)
    await talking.do("commit")
    await talking.do("create")


async def answered(talking: Puppet) -> Event:
    """Wait for the end of the answer; return its response."""
    response: Event = (await talking.until("response.done"))["response"]
    return response


async def the_next_is_whole(talking: Puppet, cancelled: Event) -> None:
    """Wait for the next answer, which is complete; nothing of the one that was cancelled follows its end."""
    response = await answered(talking)
    assert response["status"] == "completed"
    assert frames_of(talking.events, response["id"]) == script(int(LONG[1]))
    judge_end(talking, cancelled)
    assert talking.numbers == sorted(set(talking.numbers))
    await talking.leave()


def judge_end(talking: Puppet, response: Event) -> None:
    """Nothing of a response follows its one end; an item of it may still be asked for."""
    kinds = [event["type"] for event in of_response(talking.events, response)]
    of_it = [kind for kind in kinds if kind.startswith("response.")]
    assert (of_it.count("response.done"), of_it[-1]) == (1, "response.done")


def of_response(events: Iterable[Event], response: Event) -> list[Event]:
    """Return the events that are about a response or its item."""
    ids = {response["id"], *(item["id"] for item in response["output"])}
    return [event for event in events if ids & {event.get("response_id"), *named(event)}]


def named(event: Event) -> list[str]:
    """Return the ids of the response and of the item that an event has whole."""
    return [event[part]["id"] for part in ("response", "item") if part in event]


def frames_of(events: Iterable[Event], response_id: str) -> list[int]:
    """Return which frames of the script a response's audio is made of."""
    deltas = [e for e in events if e["type"] == "response.output_audio.delta" and e["response_id"] == response_id]
    return [frame_of(delta["delta"]) for delta in deltas]


def frame_of(audio: str) -> int:
    """Return which frame of the script some audio is, counted from 1, modulo 64: all its samples say so."""
    return int.from_bytes(base64.b64decode(audio)[:2], "little")


def script(frames: int) -> list[int]:
    """Return what the frames of a whole reply are."""
    return [index % 64 + 1 for index in range(frames)]
