"""The echo agent: it hears a turn, says what it heard, and can be interrupted. Three stages, real models.

The models are imported in the workers that own them; this module knows only their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from interlock.errors import ClientError
from interlock.wire.session_object import PCM_24K
from interlock.workers.core import StageSpec
from interlock.workers.speech.turns import TurnConfig

Carrier: TypeAlias = Literal["process", "thread"]

EARS: Final = "ears"
MIND: Final = "mind"
VOICE: Final = "voice"

RATES: Final = {"pcm16": 16000, "pcm16_16k": 16000, "pcm16_24k": 24000}
"""Input formats by name. The GA object ``{"type": "audio/pcm", "rate": ...}`` says its rate itself."""

TURN_PARAMS: Final = {
    "threshold": "threshold",
    "silence_duration_ms": "silence_ms",
    "prefix_padding_ms": "pre_roll_ms",
}
"""What clients call the parameters of a turn, and what the ears call them."""

EAGERNESS: Final = {"low": 1200, "medium": 700, "auto": 700, "high": 350}
"""How long a pause ends a turn, in ms, where a client asks for ``semantic_vad``."""


class EchoPipeline:
    """Implements :class:`interlock.runtime.ports.WritingPipeline`: voice activity and recognition, a reply, a voice."""

    listen: str = EARS
    answer: tuple[str, ...] = (MIND, VOICE)
    write: tuple[str, ...] = (MIND,)

    def check(self, config: Mapping[str, Any]) -> None:
        """Refuse a format, or a way of taking turns, that this agent does not have."""
        input_rate(config)
        check_output(config)
        turn_params(config)

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Check the configuration; the models are loaded already."""
        self.check(config)

    def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
        """Return what each stage is submitted: the ears their rate and how turns are cut, the mind the turn."""
        if stage == EARS:
            return {"rate": input_rate(config), **turn_params(config)}
        return {"text": text} if stage == MIND else {}


def input_rate(config: Mapping[str, Any]) -> int:
    """Return the rate of the input audio in Hz. Raises :class:`ClientError` (``unsupported_audio_format``)."""
    wanted = config.get("input_audio_format") or "pcm16"
    rate = RATES.get(wanted) if isinstance(wanted, str) else wanted.get("rate") if isinstance(wanted, Mapping) else None
    if not isinstance(rate, int) or rate not in RATES.values():
        known = ", ".join(RATES)
        raise ClientError("unsupported_audio_format", f"input audio is one of {known}", param="input_audio_format")
    return rate


def check_output(config: Mapping[str, Any]) -> None:
    """Raise :class:`ClientError` (``unsupported_audio_format``) where the output is to be anything but 24 kHz PCM16."""
    wanted = config.get("output_audio_format") or "pcm16"
    known = wanted in ("pcm16", "pcm16_24k") if isinstance(wanted, str) else {**PCM_24K, **wanted} == PCM_24K
    if not known:
        text = "output audio is pcm16 at 24 kHz"
        raise ClientError("unsupported_audio_format", text, param="output_audio_format")


def turn_params(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the ears are to cut turns: by hand, or by the client's thresholds and durations.

    ``semantic_vad`` is heard as pauses whose length follows its ``eagerness``. Raises :class:`ClientError`
    (``unsupported_turn_detection``), which names the value and what is allowed.
    """
    wanted = config.get("turn_detection", {})
    if wanted is None:
        return {"manual": True}
    given = {ours: wanted[theirs] for theirs, ours in TURN_PARAMS.items() if wanted.get(theirs) is not None}
    match wanted.get("type", "server_vad"):
        case "server_vad":
            pass
        case "semantic_vad":
            given = {"silence_ms": EAGERNESS.get(str(wanted.get("eagerness")), EAGERNESS["auto"])}
        case kind:
            raise _unsupported(f"turns are detected by server_vad, semantic_vad, or by hand (null); not by {kind!r}")
    try:
        TurnConfig().changed(given)
    except (TypeError, ValueError) as error:
        raise _unsupported(str(error)) from error
    return given


def _unsupported(text: str) -> ClientError:
    return ClientError("unsupported_turn_detection", text, param="turn_detection")


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
