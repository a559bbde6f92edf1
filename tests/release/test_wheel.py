"""The wheel alone, in an empty environment: what the README promises works without a checkout."""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path

import pytest

from interlock import __version__
from interlock.demo import hearing
from interlock.demo.checks import CHECKS
from interlock.tables import SOURCES
from tests.release.environment import ROOT, Environment, built, installed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(wheel, (), tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(wheel, ("speech", "serve", "diagrams", "completion"), tmp_path_factory.mktemp("full"))


def test_it_is_the_wheel_that_runs_and_nothing_of_the_checkout(bare: Environment) -> None:
    done = bare.run("python", "-c", "import interlock, sys; print(interlock.__file__, *sys.path, sep='\\n')")
    first, *paths = done.stdout.splitlines()
    assert Path(first).is_relative_to(bare.home)
    assert [path for path in paths if Path(path).is_relative_to(ROOT)] == []


ASK_FOR_EACH = """
import interlock
for name in interlock.__all__:
    try:
        getattr(interlock, name)
    except ModuleNotFoundError as absent:
        print(absent)
"""


def test_three_packages_are_enough_for_all_but_sockets_and_those_name_their_extra(bare: Environment) -> None:
    done = bare.run("python", "-c", ASK_FOR_EACH)
    assert done.stderr == ""
    told = re.findall(
        r"interlock\.(\w+) needs websockets, of an extra: pip install 'interlock\[serve\]'\n", done.stdout
    )
    assert len(told) == len(done.stdout.splitlines())
    assert {"open_client", "serve_websockets"} <= set(told)
    assert not {"Machine", "Settings", "StageFleet", "TorchStage", "Trace", "open_host"} & set(told)


@pytest.mark.parametrize("absent", ["torch", "numpy", "hypothesis", "websockets", "pygraphviz", "shtab"])
def test_what_an_extra_brings_is_not_there_without_it(bare: Environment, absent: str) -> None:
    assert bare.run("python", "-c", f"import {absent}").returncode == 1


def test_the_version_names_the_machines_that_the_tables_were_made_from(bare: Environment) -> None:
    told = ", ".join(f"{name} {digest[:12]}" for name, digest in SOURCES.items())
    assert bare.run("interlock", "--version").stdout == f"interlock {__version__}\ntables {told}\n"


def test_its_own_machines_are_checked_and_said_to_be_its_own(bare: Environment) -> None:
    done = bare.run("interlock", "check")
    assert (done.returncode, done.stdout) == (0, "7 machines, 35 states, 209 rows: no findings\n")
    assert re.fullmatch(r"interlock: no folder machines/ here; these are Interlock's own, in .*\n", done.stderr)


def test_a_folder_that_was_named_and_is_not_there_is_no_folder_of_ours(bare: Environment) -> None:
    done = bare.run("interlock", "check", "machines")
    assert (done.returncode, done.stderr) == (2, "interlock: machines: no such file or folder\n")


def test_drawings_as_text_need_nothing_and_are_those_of_the_checkout(bare: Environment) -> None:
    assert bare.run("interlock", "draw", "--format", "dot,mermaid").returncode == 0
    drawn = {path.name: path.read_text() for path in (bare.work / "diagrams").iterdir()}
    assert drawn == {path.name: path.read_text() for path in (ROOT / "diagrams").glob("*.[dm][om][td]")}


def test_pictures_name_the_extra_that_they_need(bare: Environment) -> None:
    assert "pip install 'interlock[diagrams]'" in bare.run("interlock", "draw", "--out", "pictures").stderr


def test_pictures_are_drawn(full: Environment) -> None:
    assert full.run("interlock", "draw").returncode == 0
    pictures = {path.stem for path in (full.work / "diagrams").glob("*.svg")}
    assert pictures == {*SOURCES, "overview"}


ASK_FOR_PAGES = """
from interlock.pages.assets import asset
from interlock.pages.bundle import replay_page
print(asset("talk.html").body.decode().count("Pull the plug"), asset("machines.json").body[:1].decode())
print(replay_page("t", "conforms", "", "", {}).count("</script>"))
"""


def test_the_pages_are_there_and_need_nothing_else(bare: Environment) -> None:
    done = bare.run("python", "-c", ASK_FOR_PAGES)
    assert (done.stdout, done.stderr) == ("1 [\n2\n", "")


def test_worlds_are_explored(bare: Environment) -> None:
    done = bare.run("interlock", "explore", "--world", "opening", "--world", "worker")
    assert done.returncode == 0
    assert done.stdout.startswith("opening: 3,463 states")
    assert "VIOLATED" not in done.stdout


def test_a_machine_of_ones_own_begins_with_one_command(bare: Environment) -> None:
    assert bare.run("interlock", "init", "mine").returncode == 0
    assert bare.run("interlock", "check", "mine").stdout.startswith("1 machine")


def test_the_extra_of_the_server_is_enough_for_it_and_its_pages(full: Environment) -> None:
    shown = full.run("interlock", "serve", "--show-config")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "journal_bytes" in shown.stdout
    pages = full.home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages/interlock/pages"
    assert {"talk.html", "inspect.html"} <= {path.name for path in (pages / "static").iterdir()}


@pytest.mark.speech
@pytest.mark.demo
@pytest.mark.timeout_s(150)
@pytest.mark.skipif(bool(hearing.missing()), reason="the extra `speech` is not installed")
def test_the_demo_speaks_with_the_recordings_of_the_wheel(full: Environment) -> None:
    done = full.run("interlock", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nok  ") == len(CHECKS)
    assert (full.work / "demo-out/timeline.svg").is_file()


ANSWER = """
answer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_interlock; echo "${COMPREPLY[*]}"; }
answer interlock sw
answer interlock draw --hi
answer interlock fuzz --kind ''
"""


def test_a_completion_completes(full: Environment) -> None:
    (full.work / "complete.sh").write_text(full.run("interlock", "completion", "bash").stdout + ANSWER)
    (full.home / "bin/bash").symlink_to("/bin/bash")
    assert full.run("bash", "complete.sh").stdout.splitlines() == ["sweep", "--highlight", "flat api sockets"]


def test_the_source_archive_has_what_the_tests_and_the_documents_need(wheel: Path) -> None:
    (archive,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    wanted = {"Makefile", "CHANGELOG.md", "LICENSE", "machines/world/client.toml", "examples/audio/digits.wav"}
    wanted |= {"docs/index.md", "tests/conftest.py", "benchmarks/step.py", "SECURITY.md", "CITATION.cff"}
    assert wanted - names == set()
