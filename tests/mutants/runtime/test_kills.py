"""Each fault of the runtime is found by a sweep of one scenario.

Here are those whose scenario is short; `make mutants` tries them all, and prints what found each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.proof.scenarios import SCENARIOS
from tests.mutants.runtime.faults import FAULTS, Fault
from tests.mutants.runtime.kills import PACKAGE, Stale, kill, plant

LONG = ("takeover", "reconnect", "half_dead", "shutdown", "shutdown_dies")
SHORT = [fault for fault in FAULTS if fault.depth == 1 and fault.scenario not in LONG and not fault.equivalent]


@pytest.mark.slow
@pytest.mark.real_clock
@pytest.mark.parametrize("fault", SHORT, ids=lambda fault: fault.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Fault) -> None:
    found = kill(fault)
    assert found.verdict in ("FAIL", "UNRESOLVED"), found
    assert found.finding


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "_"))
def test_a_fault_is_one_place_of_the_code_as_it_is(fault: Fault, tmp_path: Path) -> None:
    text = (PACKAGE / fault.file).read_text()
    assert fault.old in text, "stale: the code has moved on, and the fault must follow"
    assert fault.scenario in SCENARIOS
    (tmp_path / "copy.py").write_text(text)
    plant(fault, tmp_path / "copy.py")
    compile((tmp_path / "copy.py").read_text(), fault.file, "exec")


def test_a_stale_fault_is_told(tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text("moved = True\n")
    with pytest.raises(Stale, match="no longer has"):
        plant(FAULTS[0], tmp_path / "copy.py")


def test_what_is_not_a_fault_is_not_found() -> None:
    harmless = Fault("nothing", "runtime/room.py", "import trio\n", "import trio  # the same\n", "ack")
    assert not kill(harmless).killed


def test_there_are_enough() -> None:
    assert len([fault for fault in FAULTS if not fault.equivalent]) >= 30
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
