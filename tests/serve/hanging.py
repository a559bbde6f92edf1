"""`interlock serve` with stages that are scripts in real workers: one session's clean-up hangs, one speaks a flood.

Run as a module, it takes the options of `interlock serve`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock import cli
from interlock.serve import run
from interlock.serve.config import Config
from interlock.workers.core import StageSpec, WorkerSettings
from interlock.workers.echo import EARS, MIND, VOICE
from interlock.workers.fleet import StageFleet
from interlock.workers.stage import StageOutput, StageRequest

SAMPLES = (1).to_bytes(2, "little") * 960
FLOODING, HANGING = 1, 2
"""Which session in the order of their first answers says more than anybody reads, and whose clean-up hangs."""
FLOOD = 3000


class Ears:
    """Hears a turn at each commit."""

    capacity = 1000

    def __init__(self) -> None:
        self._made: list[StageOutput] = []

    def open(self, request: StageRequest) -> None:
        """Take a request."""

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Audio is audio."""

    def finish(self, request_id: str, now: float) -> None:
        for kind in ("speech_started", "speech_stopped"):
            self._made.append(StageOutput(request_id, kind))
        self._made.append(StageOutput(request_id, "transcript", b"go on"))

    def step(self, now: float) -> Sequence[StageOutput]:
        made, self._made = self._made, []
        return made

    def due(self, now: float) -> float | None:
        return 0.0 if self._made else None

    def close(self, request_id: str) -> None:
        """Nothing is held."""

    def held(self) -> Mapping[str, int]:
        return {"slots": 0, "bytes": 0}


class Voice:
    """Speaks for ever, 25 frames a second."""

    capacity = 1000

    def __init__(self) -> None:
        self._next: dict[str, tuple[float, int]] = {}
        self._numbers: dict[str, int] = {}

    def open(self, request: StageRequest) -> None:
        self._numbers[request.request_id] = len(self._numbers) + 1
        self._next[request.request_id] = (0.0, 0)

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Every text sounds the same."""

    def finish(self, request_id: str, now: float) -> None:
        """It has always more to say."""

    def step(self, now: float) -> Sequence[StageOutput]:
        made: list[StageOutput] = []
        for request_id, (at, index) in list(self._next.items()):
            if at <= now:
                count = FLOOD if (self._numbers[request_id], index) == (FLOODING, 0) else 1
                made += [StageOutput(request_id, "audio", SAMPLES, (index + n) * 40) for n in range(count)]
                self._next[request_id] = (now + 0.04, index + count)
        return made

    def due(self, now: float) -> float | None:
        return max(0.0, min(at for at, _ in self._next.values()) - now) if self._next else None

    def close(self, request_id: str) -> None:
        self._next.pop(request_id, None)

    def is_leaving(self, request_id: str) -> bool:
        """Whether the device still has it: of one request it never lets go."""
        return self._numbers.get(request_id) == HANGING

    def held(self) -> Mapping[str, int]:
        return {"slots": len(self._next), "bytes": 0}


class StuckVoice(Voice):
    """The same, but for the clean-up that hangs: it never returns, and nothing else of this stage goes on."""

    def close(self, request_id: str) -> None:
        if self.is_leaving(request_id):
            threading.Event().wait()
        super().close(request_id)


def fleet_of(served: Config) -> StageFleet:
    """Return the stages above; the voice in a process, or, stuck, in a thread, which nobody can kill."""
    voice = "StuckVoice" if served.workers == "thread" else "Voice"
    return StageFleet(
        [
            StageSpec(EARS, "tests.serve.hanging:Ears"),
            StageSpec(MIND, "interlock.workers.speech.mind:Mind", {"capacity": 1000}, carrier="thread"),
            StageSpec(VOICE, f"tests.serve.hanging:{voice}", carrier=served.workers),
        ],
        WorkerSettings(stop_s=1.0),
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    run.fleet_of = fleet_of
    sys.exit(cli.main(["serve", *sys.argv[1:]]))
