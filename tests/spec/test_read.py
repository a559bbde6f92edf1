"""Bad input is one clear line, never a traceback; findings of shape stand on their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.spec.finding import Faulty, Unusable
from interlock.spec.read import LARGEST, files_in, parse, read
from tests.spec.house import DOOR

UNUSABLE = {
    "not TOML": b"machine = ",
    "not UTF-8 at byte 11": b"machine = '\xff'",
    "over 4000000 bytes": b"#" * (LARGEST + 1),
    "nested too deeply": b"a = " + b"[" * 100_000,
}


@pytest.mark.parametrize("reason", UNUSABLE)
def test_what_is_no_machine_text_is_one_line_that_says_why(reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(UNUSABLE[reason])
    with pytest.raises(Unusable) as caught:
        read([str(path)])
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_that_is_not_there_is_named() -> None:
    with pytest.raises(Unusable, match=r"^nowhere: no such file or folder$"):
        read(["nowhere"])


def test_a_folder_without_machines_is_named(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("no machine")
    with pytest.raises(Unusable, match=r"no \*\.toml in this folder"):
        read([str(tmp_path)])


def test_a_folder_that_looks_like_a_machine_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").mkdir()
    with pytest.raises(Unusable, match=r"a\.toml: cannot be read"):
        read([str(tmp_path)])


def test_files_come_in_the_order_of_their_names_and_once(tmp_path: Path) -> None:
    for name in ("b.toml", "a.toml"):
        (tmp_path / name).write_text("")
    names = [path.name for path in files_in([str(tmp_path), str(tmp_path / "a.toml")])]
    assert names == ["a.toml", "b.toml"]


SHAPES = [
    (
        'doc      = "A door',
        'dok      = "A door',
        "unknown-key",
        "unknown key `dok` in the file; known are machine, doc,",
    ),
    ('guard = "is_known"', 'gard = "is_known"', "unknown-key", "known are guard, to, assign, emit, rearm, refuse"),
    ("[state.OPEN]\n", "[state.OPEN]\nentry = 1\n", "unknown-key", "`state.OPEN`; known are doc, ignore, refuse,"),
    ('from    = "OPENING"', 'form    = "OPENING"', "missing-key", "`work.Turn.from` is missing; add it"),
    ("[state.STUCK]", "[state.Stuck]", "name", "`Stuck` at state.Stuck: a state is written in CAPITALS"),
    ("on.ShutAsked   =", "on.shut_asked   =", "name", "a message or a work is written in CamelCase"),
    ('"is_known"', '"isKnown"', "name", "is written in snake_case"),
    ('"already_shut"', '"already shut"', "name", "a wire code is written in lower_case"),
    (
        'emit = ["BellRung"]',
        'emit = "BellRung"',
        "type",
        "`state.SHUT.on.OpenAsked.1.emit`: Input should be a valid list",
    ),
    ("stamps   = [", "stamps   = 7 # [", "type", "`stamps`: Input should be a valid list"),
]


@pytest.mark.parametrize(("old", "new", "rule", "says"), SHAPES, ids=[shape[3] for shape in SHAPES])
def test_another_shape_is_a_finding_on_its_line(old: str, new: str, rule: str, says: str) -> None:
    assert old in DOOR
    text = DOOR.replace(old, new, 1)
    with pytest.raises(Faulty) as caught:
        parse("door.toml", text)
    findings = [finding for finding in caught.value.findings if finding.rule == rule and says in finding.message]
    assert len(findings) == 1
    if rule != "missing-key":
        assert findings[0].line == text[: text.index(new)].count("\n") + 1 + new.startswith("[state.OPEN]")


def test_the_hash_is_that_of_the_file_whatever_its_line_ends(tmp_path: Path) -> None:
    hashes = set()
    for name, end in (("a.toml", "\n"), ("b.toml", "\r\n")):
        (tmp_path / name).write_bytes(DOOR.replace("\n", end).encode())
        hashes.add(read([str(tmp_path / name)])[0].sha256)
    assert len(hashes) == 1


def test_the_label_does_not_depend_on_where_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "door.toml").write_text(DOOR)
    monkeypatch.chdir(folder)
    assert [read([path])[0].label for path in ("door.toml", str(folder), "../flows")] == ["flows/door.toml"] * 3
