"""The echo agent: it hears a turn, says what it heard, and can be interrupted. Three stages, real models.

The models are imported in the workers that own them; this module knows only their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from interlock.errors import ClientError
from interlock.workers.core import StageSpec

Carrier: TypeAlias = Literal["process", "thread"]

EARS: Final = "ears"
MIND: Final = "mind"
VOICE: Final = "voice"

RATES: Final = {"pcm16": 16000, "pcm16_16k": 16000, "pcm16_24k": 24000}
"""Input formats by name. The GA object ``{"type": "audio/pcm", "rate": ...}`` says its rate itself."""


class EchoPipeline:
    """Implements :class:`interlock.runtime.ports.Pipeline`: voice activity and recognition, a reply, a voice."""

    listen: str = EARS
    answer: tuple[str, ...] = (MIND, VOICE)

    def check(self, config: Mapping[str, Any]) -> None:
        """Refuse an input format, or a way of taking turns, that this agent does not have."""
        input_rate(config)
        detection = config.get("turn_detection", {"type": "server_vad"})
        if not isinstance(detection, Mapping) or detection.get("type", "server_vad") != "server_vad":
            raise ClientError("unsupported_turn_detection", "turns are detected by server_vad", param="turn_detection")

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Check the configuration; the models are loaded already."""
        self.check(config)

    def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
        """Return what each stage is submitted: the ears their rate, the mind the turn."""
        if stage == EARS:
            return {"rate": input_rate(config)}
        return {"text": text} if stage == MIND else {}


def input_rate(config: Mapping[str, Any]) -> int:
    """Return the rate of the input audio in Hz. Raises :class:`ClientError` (``unsupported_audio_format``)."""
    wanted = config.get("input_audio_format") or "pcm16"
    rate = RATES.get(wanted) if isinstance(wanted, str) else wanted.get("rate") if isinstance(wanted, Mapping) else None
    if not isinstance(rate, int) or rate not in RATES.values():
        known = ", ".join(RATES)
        raise ClientError("unsupported_audio_format", f"input audio is one of {known}", param="input_audio_format")
    return rate


def echo_stages(
    carrier: Carrier = "process", ahead_s: float = 0.5, speakers: int = 8, mind: Path | None = None
) -> list[StageSpec]:
    """Return the agent's stages.

    The mind is a few lines of Python, and stays in the server's process; or else it is the causal language model in
    the folder ``mind``. A session may briefly have two requests at a stage, one of them being cleaned up, so there is
    room for twice as many as there are ``speakers``; a decoder of the ears is made when it is first needed, and kept.
    """
    speech, room = "interlock.workers.speech", {"capacity": 2 * speakers}
    return [
        StageSpec(EARS, f"{speech}.ears:Ears", room, carrier=carrier),
        _mind(mind, room, carrier),
        StageSpec(VOICE, f"{speech}.voice:Voice", {**room, "ahead_s": ahead_s}, carrier=carrier),
    ]


def _mind(folder: Path | None, room: Mapping[str, int], carrier: Carrier) -> StageSpec:
    if folder is None:
        return StageSpec(MIND, "interlock.workers.speech.mind:Mind", room, carrier="thread")
    args = {**room, "path": str(folder.resolve())}
    return StageSpec(MIND, "interlock.workers.torch_stage.hf:mind", args, carrier=carrier)
