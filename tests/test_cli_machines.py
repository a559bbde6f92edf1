"""`interlock check | tables | draw` as a user meets them: exit codes, one line a fault, the remedy, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interlock import cli
from interlock.cli import CLEAN, FOUND, UNUSABLE, main
from tests.spec.house import BELL, DOOR


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a user who has two machines, and whose shell stands in it."""
    machines = tmp_path / "machines"
    machines.mkdir()
    (machines / "door.toml").write_text(DOOR)
    (machines / "bell.toml").write_text(BELL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


OURS = ["tables", "--out", "src/shop/tables", "--package", "shop.tables"]


def test_clean_machines_are_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == CLEAN
    assert capsys.readouterr().out == "2 machines, 7 states, 28 rows: no findings\n"


def test_a_finding_is_one_line_and_exit_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project / "machines/door.toml", 'guard = "is_known", to = "OPENING"', 'guard = "is_known", to = "OPNING"')
    assert main(["check"]) == FOUND
    first, last = capsys.readouterr().out.splitlines()
    line = DOOR[: DOOR.index('guard = "is_known"')].count("\n") + 1
    assert first == f"machines/door.toml:{line}: [unknown-state] there is no state `OPNING`; did you mean `OPENING`?"
    assert last == "1 finding"


def test_an_unknown_key_is_a_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project / "machines/door.toml", "[state.OPEN]", "[state.OPEN]\nentry = 1")
    assert main(["check"]) == FOUND
    assert "[unknown-key] unknown key `entry` in `state.OPEN`" in capsys.readouterr().out


BAD = {
    "not TOML": b"machine = ",
    "not UTF-8": b"\xff\xfe",
    "over 4000000 bytes": b"#" * 10_000_000,
    "nested too deeply": b"a = " + b"[" * 100_000,
    "missing": b"",
}


@pytest.mark.parametrize("command", ["check", "tables", "draw"])
@pytest.mark.parametrize("reason", BAD)
def test_bad_input_is_one_clear_line(
    project: Path, capsys: pytest.CaptureFixture[str], reason: str, command: str
) -> None:
    (project / "bad.toml").write_bytes(BAD[reason])
    given = [*OURS, "bad.toml"] if command == "tables" else [command, "bad.toml"]
    code = main(given)
    told = capsys.readouterr()
    if reason == "missing":
        assert (code, told.err) == (FOUND, "")
        assert "bad.toml:1: [missing-key] `machine` is missing; add it" in told.out
    else:
        assert (code, told.out) == (UNUSABLE, "")
        assert told.err.startswith("interlock: bad.toml: ")
        assert reason in told.err
        assert told.err.count("\n") == 1


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_a_path_without_machines_is_exit_2(project: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    (project / "empty").mkdir()
    assert main(["check", path]) == UNUSABLE
    assert capsys.readouterr().err.startswith(f"interlock: {path}: ")


def test_tables_are_written_once_then_up_to_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(OURS) == CLEAN
    assert capsys.readouterr().out.splitlines()[-1] == "src/shop/tables: 4 files changed"
    assert main([*OURS, "--check"]) == CLEAN
    assert capsys.readouterr().out == "src/shop/tables: up to date\n"


def test_tables_check_tells_a_hand_edit_and_the_remedy(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(OURS)
    edit(project / "src/shop/tables/door.py", 'to="OPENING"', 'to="SHUT"')
    capsys.readouterr()
    assert main([*OURS, "--check"]) == FOUND
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("src/shop/tables/door.py: line ")
    assert line.endswith("is not what the machines say; run `interlock tables` and commit what it writes")


def test_tables_check_tells_a_changed_machine(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(OURS)
    edit(project / "machines/bell.toml", "Nobody has answered.", "Still nobody.")
    capsys.readouterr()
    assert main([*OURS, "--check"]) == FOUND
    named = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert named == [f"src/shop/tables/{name}.py" for name in ("bell", "messages", "__init__")]


def test_tables_are_not_written_from_machines_with_findings(project: Path) -> None:
    edit(project / "machines/door.toml", 'to = "OPENING"', 'to = "OPNING"')
    assert main(OURS) == FOUND
    assert not (project / "src").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["tables"], "say where the tables go"),
        (["tables", "--out", "x"], "--out and --package go together"),
        (["tables", "--out", "x", "--package", "a-b"], "is not a dotted name"),
    ],
)
def test_tables_asks_where_to_write(
    project: Path, capsys: pytest.CaptureFixture[str], given: list[str], says: str
) -> None:
    assert main(given) == UNUSABLE
    assert says in capsys.readouterr().err


def test_drawings_are_written_then_compared_by_hash(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw"]) == CLEAN
    assert main(["draw", "--check"]) == CLEAN
    (project / "diagrams/door.svg").write_text("<svg></svg>")
    edit(project / "diagrams/bell.dot", "RINGING", "SILENT")
    capsys.readouterr()
    assert main(["draw", "--check"]) == FOUND
    remedy = "; run `interlock draw` and commit what it writes"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("diagrams/bell.dot: line ")
    assert lines[1] == f"diagrams/door.svg: was drawn from another door.dot{remedy}"
    assert all(line.endswith(remedy) for line in lines)


def test_a_machine_that_is_gone_leaves_nothing_behind(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "machines/lone.toml").write_text(BELL.replace("bell", "lone").replace("Bell", "Lone"))
    edit(project / "machines/lone.toml", "door = [", "gate = [")
    edit(project / "machines/lone.toml", "LoneAnswered", "BellAnswered")
    edit(project / "machines/lone.toml", '"PlaySound"', '"MakeNoise"')
    edit(project / "machines/lone.toml", '"PlaySound"', '"MakeNoise"')
    edit(project / "machines/lone.toml", "message.PlaySound", "message.MakeNoise")
    assert (main(OURS), main(["draw"])) == (CLEAN, CLEAN)
    (project / "machines/lone.toml").unlink()
    capsys.readouterr()
    assert (main([*OURS, "--check"]), main(["draw", "--check"])) == (FOUND, FOUND)
    said = capsys.readouterr().out
    assert all(f"{path}: is left over" in said for path in ("src/shop/tables/lone.py", "diagrams/lone.svg"))
    assert (main(OURS), main(["draw"])) == (CLEAN, CLEAN)
    assert (main([*OURS, "--check"]), main(["draw", "--check"])) == (CLEAN, CLEAN)


def test_drawing_one_file_keeps_the_drawings_of_the_others(project: Path) -> None:
    assert main(["draw"]) == CLEAN
    (project / "machines/door.toml").write_text(DOOR.replace('"BellRung"', '"StartMotor"'))
    assert main(["draw", "machines/door.toml"]) == CLEAN
    drawn = {path.name for path in (project / "diagrams").iterdir()}
    assert drawn == {f"{name}.{suffix}" for name in ("bell", "door", "overview") for suffix in ("dot", "mmd", "svg")}


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    told = capsys.readouterr().out
    assert all(f"    {name} " in told for name in ("check", "tables", "draw", *cli.COMMANDS))


def test_output_that_the_terminal_cannot_show_is_escaped(project: Path) -> None:
    edit(project / "machines/door.toml", 'name = "str"', 'name = "zürich"')
    done = subprocess.run(
        [sys.executable, "-m", "interlock", "check"],
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (FOUND, "")
    assert "OpenAsked.name: `z\\xfcrich` is no type" in done.stdout


@pytest.mark.parametrize("given", [["check"], ["draw", "--check"], ["tables", "--check"]])
def test_checking_machines_imports_neither_trio_nor_torch(given: list[str]) -> None:
    program = (
        "import sys; from interlock.cli import main; code = main(sys.argv[1:]); "
        "print([name for name in ('trio', 'torch', 'pygraphviz') if name in sys.modules]); sys.exit(code)"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program, *given], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == ""


def test_findings_for_programs_and_for_pull_requests(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project / "machines/door.toml", 'guard = "is_known", to = "OPENING"', 'guard = "is_known", to = "OPNING"')
    assert main(["check", "--format", "json"]) == FOUND
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["file"], finding["rule"]) == ("machines/door.toml", "unknown-state")
    assert main(["check", "--format", "github"]) == FOUND
    first = capsys.readouterr().out.splitlines()[0]
    place = f"file=machines/door.toml,line={finding['line']},title=unknown-state"
    assert first == f"::error {place}::{finding['message']}"
    edit(project / "machines/door.toml", "OPNING", "OPENING")
    assert main(["check", "--format", "json"]) == CLEAN
    assert json.loads(capsys.readouterr().out) == {"findings": [], "machines": 2, "states": 7, "rows": 28}


def test_the_rules_are_listed_without_reading_a_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--rules", "nowhere"]) == CLEAN
    text = capsys.readouterr().out
    assert "dead-row\n  Two rows cannot both fire" in text
    assert main(["check", "--rules", "--format", "json"]) == CLEAN
    assert {"name", "reason", "bad", "good"} == set(json.loads(capsys.readouterr().out)[0])


def test_a_machine_of_transitions_is_imported_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    markup = {"states": ["a", {"name": "b", "on_enter": "ring"}], "initial": "a", "transitions": [["go", "a", "b"]]}
    (project / "phone.json").write_text(json.dumps(markup))
    assert main(["import", "phone.json"]) == CLEAN
    told = capsys.readouterr()
    assert 'machine = "phone"' in told.out
    assert "phone.json: on_enter of state b is not carried: ring; write it as assign, emit or timeouts\n" in told.err
    assert main(["import", "phone.json", "--out", "machines/phone.toml"]) == CLEAN
    assert main(["check"]) == CLEAN
    assert main(["import", "phone.json", "--out", "machines/phone.toml"]) == UNUSABLE
    assert "machines/phone.toml: is there already, and stays" in capsys.readouterr().err


@pytest.mark.parametrize("reason", [name for name in BAD if name != "missing"])
def test_what_cannot_be_imported_is_one_clear_line(
    project: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    (project / "bad.json").write_bytes(BAD[reason])
    assert main(["import", "bad.json"]) == UNUSABLE
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith("interlock: bad.json: ")


def test_init_writes_a_clean_machine_and_never_over_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "flows"]) == CLEAN
    assert capsys.readouterr().out.startswith("flows/door.toml: written. Next:\n  interlock check flows\n")
    assert main(["check", "flows"]) == CLEAN
    assert main(["init"]) == UNUSABLE
    assert (project / "machines/door.toml").read_text() == DOOR


def test_a_reader_that_has_seen_enough_is_no_traceback(project: Path) -> None:
    edit(
        project / "machines/door.toml",
        "[state.OPEN]",
        "".join(f"[state.LONE{at}]\n" for at in range(900)) + "[state.OPEN]",
    )
    checking = subprocess.Popen(
        [sys.executable, "-m", "interlock", "check"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert checking.stdout is not None
    assert checking.stderr is not None
    checking.stdout.read(1)
    checking.stdout.close()
    assert checking.stderr.read() == ""
    checking.stderr.close()
    assert checking.wait() == UNUSABLE
