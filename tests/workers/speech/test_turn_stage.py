"""Turns of many at once are those of each alone, and those that the ears hear."""

from __future__ import annotations

import pytest

from interlock.workers.speech.turn_stage import turns
from interlock.workers.speech.turns import FRAME_MS, FRAME_SAMPLES, Cut, Turn, TurnConfig
from interlock.workers.speech.vad import STATE_BYTES, SileroVad
from interlock.workers.stage import StageRequest
from tests.workers.speech.recordings import SILENCE, TRANSCRIPTS, recording

pytestmark = pytest.mark.speech

BYTES = 2 * FRAME_SAMPLES


def alone(vad: SileroVad, pcm: bytes) -> list[tuple[str, int]]:
    turn, slot, found = Turn(TurnConfig()), vad.lend("alone"), list[tuple[str, int]]()
    for number, at in enumerate(range(0, len(pcm) - BYTES + 1, BYTES), 1):
        cut = turn.judge(vad.probabilities([slot], [pcm[at : at + BYTES]])[0])
        if cut is not Cut.NONE:
            found.append((f"speech_{cut.value}", number * FRAME_MS))
    vad.take_back("alone")
    return found


def test_many_at_once_are_heard_as_each_alone(vad: SileroVad) -> None:
    stage, said = turns(capacity=32, max_batch=8, device="cpu"), dict[str, bytes]()
    for number in range(20):
        name = list(TRANSCRIPTS)[number % len(TRANSCRIPTS)]
        said[f"r{number}"] = bytes(960 * number) + recording(name) + SILENCE
        stage.open(StageRequest(f"r{number}", 1))
    assert stage.held()["bytes"] == 20 * STATE_BYTES
    heard: dict[str, list[tuple[str, int]]] = {request_id: [] for request_id in said}
    for request_id, pcm in said.items():
        stage.append(request_id, pcm, 0.0)
    while stage.due(0.0) is not None:
        for output in stage.step(0.0):
            heard[output.request_id].append((output.kind, output.at_ms))
    assert heard == {request_id: alone(vad, pcm) for request_id, pcm in said.items()}
    assert all(len(found) >= 2 for found in heard.values())
    for request_id in said:
        stage.close(request_id)
    assert stage.held()["slots"] == 0
