"""Bad input is findings or one clear line, and soon: whatever the bytes, the path, the names, and however many."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from interlock.cli import FOUND, UNUSABLE, main
from interlock.spec.check import checked
from interlock.spec.compile import compiled
from interlock.spec.read import LARGEST
from tests.spec.house import DOOR

HEAD = """\
machine = "big"
doc = "Big."
initial = "S0"
final = ["END"]
[events]
host = ["Go", "Stop"]
[message.Go]
doc = "Go on."
[message.Stop]
doc = "Stop."
"""

TEXTS = {
    "not TOML": b"machine = ",
    "a key twice": b"machine = 'a'\nmachine = 'b'",
    "a state twice": b"[state.A]\n[state.A]",
    "not UTF-8": b"machine = '\xff'",
    "10 MB": b"#" * 10_000_000,
    "a number of 5,000 digits": b"a = " + b"1" * 5_000,
    "a NUL": b"a = \x00",
    "a lone carriage return": b"a = 1\rb = 2",
    "deep arrays": b"a = " + b"[" * 500_000,
    "deep tables": b"a = " + b"{a = " * 100_000,
    "a deep key": b"a." * 500_000 + b"a = 1",
    "a deep quoted key": b'"a" . ' * 500_000 + b"a = 1",
    "a deep header": b"[" + b"a." * 500_000 + b"a]",
    "one word": b"a" * (LARGEST - 1),
    "quotes": b'"' * (LARGEST - 1),
    "quotes and blanks": b'" ' * (LARGEST // 2 - 1),
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_machine_text_is_one_line(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.toml").write_bytes(TEXTS[text])
    assert main(["check", str(tmp_path)]) == UNUSABLE
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith(f"interlock: {tmp_path / 'a.toml'}: ")


def test_a_path_that_cannot_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    (tmp_path / "empty").mkdir()
    paths = ["pipe.toml", "loop.toml", "empty", "x" * 5_000, "nul\0", "line\nbreak", "\x1b[31m", "<script>", "-->", '"']
    for path in paths:
        assert main(["check", str(tmp_path / path)]) == UNUSABLE
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n"), "\x1b" in told.err) == ("", 1, False)


ODD = [
    "quo'te",
    'quo"te',
    "new\nline",
    "<script>",
    "-->",
    "\x1b[31m",
    "\u202e",
    "a" * 9_999,
    "",
    "⚡",
    "${x}",
    "{0}",
    "%s",
]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("where", ['"is_known"', '"OPENING"', '"door"', '"BellRung"', "[state.OPEN]", "OpenAsked   ="])
@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_odd_names_are_findings(
    name: str, where: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = '"' + "".join(f"\\u{ord(char):04X}" for char in name) + '"'
    new = {"[": f"[state.{odd}]", "O": f"{odd} ="}.get(where[0], odd)
    (tmp_path / "a.toml").write_text(DOOR.replace(where, new, 1), encoding="utf-8")
    assert main(["check", str(tmp_path), "--format", form]) == FOUND
    told = capsys.readouterr()
    assert told.err == ""
    assert all(char.isprintable() for line in told.out.splitlines() for char in line)


def test_any_text_in_a_doc_compiles(tmp_path: Path) -> None:
    for number, text in enumerate(ODD):
        quoted = "".join(f"\\u{ord(char):04X}" for char in text)
        (tmp_path / "a.toml").write_text(HEAD.replace("Big.", quoted) + ring(2))
        for name, module in compiled(checked([str(tmp_path)]), "shop").items():
            compile(module, f"{number}/{name}", "exec")


def ring(states: int, row: str = 'on.Go = { to = "S%d" }') -> str:
    """Return so many states, each with a row to the next and one to the end."""
    rows = (f'[state.S{at}]\n{row % ((at + 1) % states)}\non.Stop = {{ to = "END" }}\n' for at in range(states))
    return "".join(rows) + "[state.END]\n"


def test_10_000_rows_are_checked_and_compiled_in_under_5_seconds(tmp_path: Path) -> None:
    guarded = 'on.Go = [{ guard = "may_go", to = "S%d", assign = ["count"] }, {}]'
    (tmp_path / "a.toml").write_text(HEAD + ring(3_334, guarded))
    started = time.perf_counter()
    blueprint = checked([str(tmp_path)])
    files = compiled(blueprint, "shop")
    took = time.perf_counter() - started
    assert len(blueprint.plans[0].rows) == 10_002
    assert files["big.py"].count("\n        Row(") == 10_002
    assert took < 5


FAULTS = {
    "targets": ring(10_000, 'on.Go = { to = "T%d" }'),
    "events": ring(10_000, 'on.Gone%d = { to = "S0" }'),
    "unreachable": ring(10_000, "# %d"),
    "works": "".join(f'[work.Wait{at}]\nfrom = "S{at}"\n' for at in range(10_000)) + ring(10_000),
    "landings": ring(10_000, 'cancel = { to = "S%d" }\non.Go = {}'),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_10_000_states_with_a_fault_each_are_told_soon(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.toml").write_text(HEAD + FAULTS[fault])
    started = time.perf_counter()
    assert main(["check", str(tmp_path)]) == FOUND
    assert time.perf_counter() - started < 20
    assert "0 findings; the first 1000 are shown" in capsys.readouterr().out or fault == "landings"
