"""Apply each fault to a copy of the package and sweep the scenario that should show it: ``make mutants``.

The copy is imported by a process of its own, so that nothing of the original is in it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutants.runtime.faults import FAULTS, Fault

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "interlock"

PROGRAM = """
import json, logging, sys
import interlock
assert interlock.__file__.startswith(sys.argv[3]), interlock.__file__
logging.getLogger("interlock").addHandler(logging.NullHandler())
from interlock.proof import sweep
from interlock.proof.plan import text
from interlock.proof.scenarios import SCENARIOS
report = sweep(SCENARIOS[sys.argv[1]], int(sys.argv[2]))
first = report.failures[0] if report.failures else None
found = [text(first.plan), first.findings[0]] if first else ["", *report.unresolved[:1]]
print(json.dumps([report.verdict, report.counts["FAIL"], *found]))
"""


class Stale(AssertionError):
    """The fault's ``old`` does not stand in its file any more: the code has moved on, and the fault must follow."""


class Kill(NamedTuple):
    """What came of one fault: the verdict, how many cases failed, the simplest plan, and what it found."""

    fault: Fault
    verdict: str
    failed: int
    plan: str
    finding: str

    @property
    def killed(self) -> bool:
        """Whether the sweep did not pass."""
        return self.verdict != "PASS"

    @property
    def by(self) -> str:
        """What showed it."""
        return self.plan or "nothing injected"


def kill(fault: Fault) -> Kill:
    """Plant one fault in a copy of the package, and sweep."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder, "interlock"), ignore=shutil.ignore_patterns("__pycache__"))
        plant(fault, Path(folder, "interlock", fault.file))
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, fault.scenario, str(fault.depth), folder],
            env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if ran.returncode:
        return Kill(fault, "ERROR", 0, "", ran.stderr.strip().rpartition("\n")[2])
    verdict, failed, plan, finding = [*json.loads(ran.stdout.splitlines()[-1]), ""][:4]
    return Kill(fault, verdict, failed, plan, finding)


def plant(fault: Fault, file: Path) -> None:
    """Put the fault in. Raises :class:`Stale`."""
    text = file.read_text()
    if not fault.old or fault.old not in text or fault.old == fault.new:
        raise Stale(f"{fault.name}: {fault.file} no longer has {fault.old!r}")
    file.write_text(text.replace(fault.old, fault.new))


def main() -> int:
    """Print the table, and the rate; 1 if a fault lives that is not explained."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        kills = list(pool.map(kill, FAULTS))
    for each in kills:
        fate = "killed" if each.killed else "same" if each.fault.equivalent else "LIVES"
        where = f"{each.fault.scenario} {each.fault.depth}"
        sys.stdout.write(f"{fate:8}{each.fault.name:78}{where:20}{each.failed:5} {each.by:34} {each.finding[:120]}\n")
    counted = [each for each in kills if not each.fault.equivalent]
    rate = f"{sum(each.killed for each in counted)} of {len(counted)} killed"
    sys.stdout.write(f"{rate}, {len(kills) - len(counted)} equivalent\n")
    return int(not all(each.killed for each in counted))


if __name__ == "__main__":
    sys.exit(main())
