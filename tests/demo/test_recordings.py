from __future__ import annotations

from pathlib import Path

import pytest

from interlock.demo.recordings import Recording, find_folder, load, save
from interlock.errors import WorldError


def recording(folder: Path, name: str, rate: int = 16_000, words: str | None = "some words\n") -> None:
    save(folder / f"{name}.wav", b"\1\0" * 1600, rate)
    if words is not None:
        (folder / f"{name}.txt").write_text(words)


def test_fewer_recordings_than_turns_are_said_again(tmp_path: Path) -> None:
    recording(tmp_path, "b")
    recording(tmp_path, "a")
    assert [said.name for said in load(tmp_path)] == ["a", "b", "a", "b"]
    assert load(tmp_path)[0] == Recording("a", "some words", b"\1\0" * 1600)
    assert load(tmp_path)[0].seconds == 0.1


def test_a_missing_folder_says_where_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"has no \*\.wav: leave --audio out .*--audio DIR"):
        find_folder(tmp_path)


def test_interlock_has_its_own() -> None:
    assert len(load(find_folder(None))) == 4


def test_another_format_names_the_remedy(tmp_path: Path) -> None:
    recording(tmp_path, "a", rate=44_100)
    with pytest.raises(WorldError, match="is not 16000 Hz mono PCM16; sox "):
        load(tmp_path)


def test_words_that_are_missing(tmp_path: Path) -> None:
    recording(tmp_path, "a", words=None)
    with pytest.raises(WorldError, match=r"its words are missing; write them to a\.txt"):
        load(tmp_path)


def test_what_is_no_wav(tmp_path: Path) -> None:
    recording(tmp_path, "a")
    (tmp_path / "a.wav").write_bytes(b"hello")
    with pytest.raises(WorldError, match="is no WAV file"):
        load(tmp_path)
