"""An environment with a wheel and what the wheel asks for, and nothing else: made in a second, and without a network.

What a wheel requires is looked up in its own metadata, and linked in from the environment that the tests run in. So a
dependency that ``pyproject.toml`` forgets is missing here as well.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from typing import NamedTuple
from zipfile import Path as ZipPath
from zipfile import ZipFile

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


class Environment(NamedTuple):
    """A virtual environment that knows nothing of the checkout, and the folder in which its commands run."""

    home: Path
    work: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command that the environment has, as a stranger's shell would."""
        variables = {"PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "HOME": str(self.work), "LANG": "C.UTF-8"}
        program = str(self.home / "bin" / command[0])
        return subprocess.run(
            [program, *command[1:]], cwd=self.work, env=variables, capture_output=True, text=True, check=False
        )


def built(folder: Path) -> Path:
    """Build sdist and wheel, the wheel from the sdist, and return the wheel."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, extras: Iterable[str], folder: Path) -> Environment:
    """Install a wheel with some of its extras into an empty environment in ``folder``."""
    home, work = folder / "venv", folder / "work"
    venv.create(home)
    work.mkdir()
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin/python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    for found in _wanted(wheel, extras):
        _link(found, site)
    return Environment(home, work)


def _wanted(wheel: Path, extras: Iterable[str]) -> list[Distribution]:
    """Return all that a wheel needs with ``extras``, what it needs through others included."""
    with ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        itself = PathDistribution(ZipPath(archive, f"{metadata.rpartition('/')[0]}/"))
        due, seen = [Requirement(f"interlock[{','.join(extras)}]")], set[str]()
        found: dict[str, Distribution] = {}
        while due:
            wanted = due.pop()
            if str(wanted) in seen:
                continue
            seen.add(str(wanted))
            of = itself if wanted.name == "interlock" else found.setdefault(wanted.name, distribution(wanted.name))
            due += _required(of, wanted.extras)
    return list(found.values())


def _required(of: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield what a distribution requires here, with ``extras``."""
    for requirement in map(Requirement, of.requires or ()):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in ("", *extras)):
            yield requirement


def _link(found: Distribution, site: Path) -> None:
    """Link the top of everything that a distribution has into ``site``."""
    for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
        source, target = Path(str(found.locate_file(top))), site / top
        if not target.is_symlink():
            target.symlink_to(source)
