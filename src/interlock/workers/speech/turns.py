"""When a turn of speech begins and ends: hysteresis over the probabilities of a voice activity detector. No model here.

Two thresholds, as in Silero's own iterator: a frame at or above ``threshold`` is speech, one below ``negative`` is
silence, and what lies between decides nothing. A turn begins when speech has lasted ``min_speech_ms``, and ends after
``silence_ms`` of *continuous* silence: one frame of speech clears what had been counted (fault FE-11). Each accepted
configuration has an end that can be reached (fault FE-12), and no turn is longer than ``max_turn_s``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

FRAME_SAMPLES = 512
"""What the detector judges at once, at 16 kHz: 32 ms."""

FRAME_MS = FRAME_SAMPLES // 16


@dataclass(frozen=True, slots=True)
class TurnConfig:
    """How a turn is cut out of audio. Durations are rounded up to whole frames of 32 ms.

    ``pre_roll_ms`` of audio from before the first frame of speech belong to the turn, so that a soft first sound is
    not cut off. ``manual`` leaves it to commits where turns end, and everything between two of them is heard.
    Raises ``ValueError``, which says what is allowed.
    """

    threshold: float = 0.5
    min_speech_ms: int = 96
    silence_ms: int = 450
    pre_roll_ms: int = 300
    max_turn_s: float = 30.0
    manual: bool = False

    def __post_init__(self) -> None:
        if not 0.05 < self.threshold < 0.95:
            raise ValueError(f"threshold = {self.threshold}: must be above 0.05 and below 0.95, so that a turn can end")
        for name, low, high in (("min_speech_ms", 0, 2_000), ("silence_ms", 32, 10_000), ("pre_roll_ms", 0, 2_000)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} = {getattr(self, name)}: must be from {low} to {high}")
        if not 1.0 <= self.max_turn_s <= 120.0:
            raise ValueError(f"max_turn_s = {self.max_turn_s}: must be from 1 to 120")

    @property
    def negative(self) -> float:
        """Below this probability a frame is silence."""
        return max(self.threshold - 0.15, 0.01)

    def changed(self, params: Mapping[str, Any]) -> TurnConfig:
        """Return this configuration with what ``params`` say otherwise; their other keys are not ours."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return TurnConfig(**(own | {name: params[name] for name in own if name in params}))


class Cut(Enum):
    """What one frame did to the turn."""

    NONE = "none"
    STARTED = "started"
    STOPPED = "stopped"


def frames(milliseconds: float) -> int:
    """How many frames cover this duration."""
    return int(-(-milliseconds // FRAME_MS))


class Turn:
    """The hysteresis of one request. ``judge`` takes one probability per frame, in order."""

    __slots__ = ("_config", "_quiet", "_speech", "speaking")

    def __init__(self, config: TurnConfig) -> None:
        self._config = config
        self.reset()

    def reset(self) -> None:
        """Forget the turn: the next frame is the first of silence."""
        self.speaking = False
        self._speech = self._quiet = 0

    @property
    def candidate(self) -> bool:
        """Whether speech was heard that has not lasted long enough yet to begin a turn."""
        return not self.speaking and self._speech > 0

    def judge(self, probability: float) -> Cut:
        """Take the next frame."""
        return self._still_speaking(probability) if self.speaking else self._still_silent(probability)

    def _still_silent(self, probability: float) -> Cut:
        if probability < self._config.negative:
            self._speech = 0
        elif self._speech or probability >= self._config.threshold:
            self._speech += 1
        self.speaking = self._speech > 0 and self._speech >= frames(self._config.min_speech_ms)
        return Cut.STARTED if self.speaking else Cut.NONE

    def _still_speaking(self, probability: float) -> Cut:
        self._speech += 1
        if probability >= self._config.threshold:
            self._quiet = 0
        elif probability < self._config.negative:
            self._quiet += 1
        if self._quiet < frames(self._config.silence_ms) and self._speech < frames(self._config.max_turn_s * 1000):
            return Cut.NONE
        self.reset()
        return Cut.STOPPED
