"""The recordings of a user: WAV files, each with its words beside it, in the order of their names."""

from __future__ import annotations

import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from interlock import shipped
from interlock.errors import WorldError

RATE: Final = 16_000
"""Hz of the recordings: PCM16 mono."""
TURNS: Final = 4
"""How many sentences the user says; fewer recordings are said again."""
MORE: Final = 2
"""And how many more when a worker is killed: the one that it answers then, and the one after."""


class Recording(NamedTuple):
    """One sentence of a user."""

    name: str
    words: str
    pcm: bytes

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.pcm) / 2 / RATE


def find_folder(given: Path | None) -> Path:
    """Return the folder of the recordings. Raises :class:`WorldError` where there are none."""
    found = given or shipped.folder("audio")
    if any(found.glob("*.wav")):
        return found
    raise WorldError(
        f"{found} has no *.wav: leave --audio out for those that come with Interlock, or name a folder of your own "
        f"with --audio DIR (NAME.wav, 16 kHz mono PCM16, each with its words in NAME.txt)"
    )


def load(folder: Path, turns: int = TURNS) -> Sequence[Recording]:
    """Read the recordings of a folder, one for each turn. Raises :class:`WorldError` for what cannot be used."""
    found = [_read(path) for path in sorted(folder.glob("*.wav"))[:turns]]
    return [found[turn % len(found)] for turn in range(turns)]


def _read(path: Path) -> Recording:
    text = path.with_suffix(".txt")
    if not text.exists():
        raise WorldError(f"{path}: its words are missing; write them to {text.name}")
    try:
        with wave.open(str(path), "rb") as wav:
            if (wav.getframerate(), wav.getnchannels(), wav.getsampwidth()) != (RATE, 1, 2):
                raise WorldError(f"{path}: is not {RATE} Hz mono PCM16; sox {path} -r {RATE} -c 1 -b 16 other.wav")
            pcm = wav.readframes(wav.getnframes())
    except (wave.Error, EOFError) as error:
        raise WorldError(f"{path}: is no WAV file: {error}") from error
    return Recording(path.stem, text.read_text().strip(), pcm)


def save(path: Path, pcm: bytes, rate: int) -> None:
    """Write PCM16 mono as WAV."""
    with wave.open(str(path), "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(rate)
        wav.writeframes(pcm)
