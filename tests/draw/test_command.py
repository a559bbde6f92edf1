"""`interlock draw` as a user meets it: forms, folders, highlights, exit codes, and one line for what is wrong."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.cli import main
from interlock.draw.command import CLEAN, FOUND
from interlock.draw.svg import digest, drawn_from
from tests.draw.project import edit, project
from tests.spec.house import BELL, DOOR

ROOT = Path(__file__).parents[2]
UNUSABLE = 2
TEXTS = {f"{name}.{suffix}" for name in ("bell", "door", "overview") for suffix in ("dot", "mmd")}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return project(tmp_path)


def names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def test_the_committed_drawings_show_the_committed_machines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["draw", "--check"]) == CLEAN, capsys.readouterr().out
    made = {f"{path.stem}.{suffix}" for path in Path("machines").glob("*.toml") for suffix in ("dot", "mmd", "svg")}
    drawn = {path.name for path in Path("diagrams").iterdir() if path.is_file()}  # the world has a folder of its own
    assert drawn == made | {"overview.dot", "overview.mmd", "overview.svg"}


def test_a_folder_is_drawn_with_its_overview() -> None:
    assert main(["draw"]) == CLEAN
    assert names("diagrams") == TEXTS | {"bell.svg", "door.svg", "overview.svg"}
    for name in ("bell", "door", "overview"):
        drawing = Path(f"diagrams/{name}.dot").read_text()
        assert drawn_from(Path(f"diagrams/{name}.svg").read_text()) == digest(drawing)
    assert main(["draw", "--check"]) == CLEAN


def test_one_file_is_drawn_alone_without_those_it_talks_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "machines/door.toml", "--out", "one", "--format", "dot"]) == CLEAN
    assert capsys.readouterr().out == "one/door.dot\none: 1 file changed\n"
    assert main(["draw", "machines/door.toml", "--out", "one", "--format", "dot", "--overview"]) == CLEAN
    assert names("one") == {"door.dot", "overview.dot"}


@pytest.mark.parametrize("text", ["overview.mmd", "door.mmd", "overview.dot"])
def test_a_hand_edit_of_any_text_is_found(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["draw"])
    edit(Path("diagrams") / text, "Motor", "Moped")
    capsys.readouterr()
    assert main(["draw", "--check"]) == FOUND
    assert capsys.readouterr().out.startswith(f"diagrams/{text}: line ")


def test_text_needs_no_graphviz_and_pictures_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys; sys.modules['pygraphviz'] = None; from interlock.cli import main; sys.exit(main(sys.argv[1:]))"
    )

    def run(*given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, "draw", *given], capture_output=True, text=True, check=False
        )

    done = run("--format", "dot,mermaid")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert names("diagrams") == TEXTS
    done = run("--out", "other")
    assert done.returncode == UNUSABLE
    assert "drawing svg needs Graphviz: pip install 'interlock[diagrams]'" in done.stderr
    assert not Path("other").exists()


def test_png_and_pdf(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "machines/bell.toml", "--format", "png,pdf", "--out", "print"]) == CLEAN
    assert capsys.readouterr().out.splitlines()[:-1] == ["print/bell.png", "print/bell.pdf"]
    assert Path("print/bell.png").read_bytes().startswith(b"\x89PNG")
    assert Path("print/bell.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_paths_says_nothing(seed: int) -> None:
    paths = ["machines/door.toml", "machines/bell.toml"]
    random.Random(seed).shuffle(paths)
    main(["draw", "--format", "dot,mermaid"])
    assert main(["draw", *paths, "--overview", "--format", "dot,mermaid", "--check"]) == CLEAN


def test_a_small_change_is_a_small_difference() -> None:
    main(["draw", "--format", "dot,mermaid", "--out", "before"])
    edit(
        Path("machines/door.toml"),
        'on.MotorOverdue = { to = "STUCK" }',
        'on.MotorOverdue = { to = "STUCK", emit = ["BellRung"] }',
    )
    main(["draw", "--format", "dot,mermaid", "--out", "after"])
    for name in ("door.dot", "door.mmd"):
        old, new = (Path(side, name).read_text().splitlines() for side in ("before", "after"))
        assert len(old) == len(new)
        assert sum(a != b for a, b in zip(old, new, strict=True)) == 2  # the row, and the hash
    assert Path("before/bell.dot").read_text() == Path("after/bell.dot").read_text()


def test_the_text_does_not_depend_on_the_seed_of_hashes() -> None:
    for seed in ("0", "1"):
        given = [sys.executable, "-m", "interlock", "draw", "--format", "dot,mermaid", "--out", f"seed{seed}"]
        subprocess.run(given, env={"PYTHONHASHSEED": seed, "PATH": ""}, check=True, capture_output=True)
    for name in TEXTS:
        assert Path("seed0", name).read_text() == Path("seed1", name).read_text()


def test_a_named_state_is_highlighted() -> None:
    assert (
        main(["draw", "--highlight", "OPEN", "--highlight", "bell=RINGING", "--out", "now", "--format", "dot"]) == CLEAN
    )
    assert names("now") == {"bell.dot", "door.dot"}
    (line,) = [line for line in Path("now/door.dot").read_text().splitlines() if "penwidth" in line]
    assert line.startswith('    "OPEN" [')
    assert ">now<" in line


def test_a_recorded_session_is_highlighted() -> None:
    rows = [{"machine": "door", "key": None, "from": "SHUT", "to": "OPENING", "row": 0}]
    rows += [{"machine": "bell", "key": "<script>", "from": "", "to": "RINGING", "row": 0}]
    lines = [{"trace": 1}, {"at": 7.0, "session": "s", "rows": rows}]
    Path("t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert (
        main(["draw", "--trace", "t.jsonl", "--session", "s", "--at", "+0", "--out", "now", "--format", "dot"]) == CLEAN
    )
    assert "now: &#60;script&#62;" in Path("now/bell.dot").read_text()
    assert (
        '"OPENING" [shape=box, peripheries=2, style=filled, fillcolor="#fff8e5", penwidth=3'
        in Path("now/door.dot").read_text()
    )


WRONG = [
    (["--highlight", "OPNE"], "name a folder with --out"),
    (["--highlight", "OPNE", "--out", "x"], "--highlight 'OPNE': did you mean `OPEN`?"),
    (["--highlight", "lamp=OPEN", "--out", "x"], "--highlight 'lamp=OPEN': "),
    (["--highlight", "OPEN", "--trace", "t", "--out", "x"], "use one of them"),
    (["--highlight", "OPEN", "--check"], "--check compares"),
    (["--format", "png", "--check"], "--check compares"),
    (["--format", "svgg"], "did you mean `svg`?"),
    (["--format", ","], "--format names nothing"),
    (["--session", "s"], "belong to --trace"),
    (["--trace", "nowhere", "--out", "x"], "nowhere: cannot be read: No such file"),
    (["--trace", "t", "--out", "x", "--at", "soon"], "--at 'soon': is a number of seconds"),
    (["--trace", "t", "--out", "x", "--at", "nan"], "--at 'nan': is a number of seconds"),
    (["nowhere"], "nowhere: no such file or folder"),
    (["x" * 5000], "File name too long"),
    (["a\0b"], "no such file or folder"),
    (["--out", "machines/door.toml"], "Not a directory"),
    (["--out", "taken"], "taken/door.dot: was not generated by interlock, and stays"),
    (["--out", "folders"], "folders: cannot be written: Is a directory"),
]


@pytest.mark.parametrize(("given", "says"), WRONG)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("taken").mkdir()
    Path("taken/door.dot").write_text("mine")
    Path("folders/door.dot").mkdir(parents=True)
    assert main(["draw", *given]) == UNUSABLE
    told = capsys.readouterr()
    assert says in told.err
    assert told.err.count("\n") == 1
    assert Path("taken/door.dot").read_text() == "mine"


def test_a_machine_called_overview_is_told_to_take_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("machines/bell.toml").write_text(BELL.replace('machine    = "bell"', 'machine    = "overview"'))
    Path("machines/door.toml").write_text(DOOR.replace("bell    =", "overview ="))
    assert main(["draw"]) == UNUSABLE
    assert "machines/bell.toml: `overview` is the drawing of all machines" in capsys.readouterr().err


def test_findings_are_told_and_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    edit(Path("machines/door.toml"), 'to = "OPENING"', 'to = "OPNING"')
    for given in (["draw"], ["draw", "machines/door.toml"]):
        assert main(given) == FOUND
        assert "[unknown-state] there is no state `OPNING`" in capsys.readouterr().out
    assert not Path("diagrams").exists()
