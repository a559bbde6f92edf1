"""The hysteresis alone: probabilities in, cuts out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.workers.speech.turns import Cut, Turn, TurnConfig, frames

CONFIG = TurnConfig(min_speech_ms=96, silence_ms=320)  # 3 frames and 10


def cuts(config: TurnConfig, probabilities: list[float]) -> list[tuple[int, Cut]]:
    turn = Turn(config)
    judged = [(index, turn.judge(probability)) for index, probability in enumerate(probabilities)]
    return [(index, cut) for index, cut in judged if cut is not Cut.NONE]


def test_a_turn_begins_after_min_speech_and_ends_after_silence() -> None:
    heard = [0.0] * 5 + [0.9] * 10 + [0.0] * 20
    assert cuts(CONFIG, heard) == [(7, Cut.STARTED), (24, Cut.STOPPED)]


def test_a_click_begins_nothing() -> None:
    assert cuts(CONFIG, ([0.9, 0.9] + [0.0] * 3) * 5) == []


def test_fe_11_speech_that_resumes_clears_the_silence() -> None:
    assert cuts(CONFIG, [0.9] * 5 + ([0.0] * 9 + [0.9]) * 10) == [(2, Cut.STARTED)]


def test_fe_11_frames_between_the_thresholds_neither_count_nor_clear() -> None:
    assert cuts(CONFIG, [0.9] * 3 + [0.0] + [0.4] * 50) == [(2, Cut.STARTED)]
    assert cuts(CONFIG, [0.9] * 3 + [0.0, 0.4] * 10) == [(2, Cut.STARTED), (21, Cut.STOPPED)]


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.05, 0.95, 1.0, 2.0, float("nan")])
def test_fe_12_a_threshold_without_an_end_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match=r"threshold = .*: must be above 0\.05 and below 0\.95"):
        TurnConfig(threshold=threshold)


@given(st.floats(0.05, 0.95, exclude_min=True, exclude_max=True), st.integers(0, 2_000), st.integers(32, 10_000))
def test_fe_12_every_accepted_configuration_has_an_end(threshold: float, speech_ms: int, silence_ms: int) -> None:
    config = TurnConfig(threshold=threshold, min_speech_ms=speech_ms, silence_ms=silence_ms)
    heard = [1.0] * max(1, frames(speech_ms)) + [0.0] * frames(silence_ms)
    assert [cut for _, cut in cuts(config, heard)] == [Cut.STARTED, Cut.STOPPED]


def test_noise_that_never_stops_ends_the_turn_at_its_limit() -> None:
    found = cuts(TurnConfig(max_turn_s=1.0), [0.9] * 70)
    assert found == [(2, Cut.STARTED), (31, Cut.STOPPED), (34, Cut.STARTED), (63, Cut.STOPPED), (66, Cut.STARTED)]


@pytest.mark.parametrize("wrong", [{"silence_ms": 0}, {"min_speech_ms": -1}, {"pre_roll_ms": 5_000}, {"max_turn_s": 0}])
def test_durations_have_limits(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CONFIG.changed(wrong)


def test_parameters_of_others_are_left_alone() -> None:
    assert CONFIG.changed({"rate": 24_000, "silence_ms": 64}).silence_ms == 64
