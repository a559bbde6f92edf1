from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from interlock.workers.speech.turns import FRAME_SAMPLES, Cut, Turn, TurnConfig
from interlock.workers.speech.vad import SileroVad
from tests.workers.speech.recordings import TRANSCRIPTS, recording

pytestmark = pytest.mark.speech

BYTES = 2 * FRAME_SAMPLES


def chunks(pcm: bytes) -> list[bytes]:
    return [pcm[at : at + BYTES] for at in range(0, len(pcm) - BYTES + 1, BYTES)]


def alone(vad: SileroVad, pcm: bytes) -> list[float]:
    slot = vad.lend("alone")
    found = [vad.probabilities([slot], [chunk])[0] for chunk in chunks(pcm)]
    vad.take_back("alone")
    return found


@pytest.fixture(autouse=True)
def gives_back(vad: SileroVad) -> Iterator[None]:
    yield
    for request_id in ("a", "b", "c", "d"):
        vad.take_back(request_id)
    assert vad.lent == 0


def test_the_network_is_the_one_in_the_wheel(vad: SileroVad) -> None:
    import silero_vad

    model = silero_vad.load_silero_vad()
    pcm = recording("go-forward")
    samples = torch.frombuffer(bytearray(pcm), dtype=torch.int16).float() / 32768
    with torch.inference_mode():
        theirs = [model(chunk, 16_000).item() for chunk in samples.unfold(0, FRAME_SAMPLES, FRAME_SAMPLES)]
    assert alone(vad, pcm) == pytest.approx(theirs, abs=1e-4)
    assert max(theirs) > 0.99
    assert min(theirs) < 0.01


def test_a_batch_judges_as_each_alone(vad: SileroVad) -> None:
    """Three recordings together, each one step later than the one before it, so that the batch grows and shrinks."""
    streams = [chunks(recording(name)) for name in TRANSCRIPTS]
    states = [vad.lend(name) for name in "abcd"[: len(streams)]]
    together: list[list[float]] = [[] for _ in streams]
    for step in range(max(row + len(stream) for row, stream in enumerate(streams))):
        rows = [row for row, stream in enumerate(streams) if 0 <= step - row < len(stream)]
        found = vad.probabilities([states[row] for row in rows], [streams[row][step - row] for row in rows])
        for row, probability in zip(rows, found, strict=True):
            together[row].append(probability)
    for name, batched in zip(TRANSCRIPTS, together, strict=True):
        assert batched == pytest.approx(alone(vad, recording(name)), abs=1e-4)


def test_a_state_does_not_depend_on_its_batch_mates(vad: SileroVad) -> None:
    heard, loud = chunks(recording("digits")), bytes(range(256)) * 4
    (*states,), (*mates,), found = map(vad.lend, "ab"), map(vad.lend, "cd"), list[float]()
    for quiet, noise in zip(heard, (loud for _ in heard), strict=False):
        found.append(vad.probabilities([states[0], mates[0]], [quiet, bytes(BYTES)])[0])
        assert vad.probabilities([mates[1], states[1]], [noise, quiet])[1] == pytest.approx(found[-1], abs=1e-4)
    memory = vad._pool.tensors["memory"]
    assert torch.allclose(memory[states[0]], memory[states[1]], atol=1e-4)


def test_fe_12_silence_ends_a_turn_at_the_lowest_threshold(vad: SileroVad) -> None:
    turn = Turn(TurnConfig(threshold=0.051))
    cuts = [turn.judge(probability) for probability in alone(vad, recording("digits") + bytes(2 * 16_000 * 4))]
    assert [cut for cut in cuts if cut is not Cut.NONE][-1] is Cut.STOPPED
