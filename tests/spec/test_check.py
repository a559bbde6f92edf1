"""Each rule catches its seeded fault, on the right line, and lets a near twin of the fault pass."""

from __future__ import annotations

import pytest

from interlock.spec.finding import Finding
from tests.spec.faults import FAULTS as ALONE_FAULTS
from tests.spec.faults import Fault
from tests.spec.faults_together import TOGETHER_FAULTS
from tests.spec.house import BELL, DOOR, found

FAULTS = [*ALONE_FAULTS, *TOGETHER_FAULTS]
CASES = [pytest.param(fault, id=f"{fault.rule}: {fault.says}") for fault in FAULTS]


def seeded(fault: Fault, new: str) -> dict[str, str]:
    """Return the texts of the house with one edit."""
    texts = {"door": DOOR, "bell": BELL}
    assert fault.old in texts[fault.file]
    texts[fault.file] = texts[fault.file].replace(fault.old, new, 1)
    return texts


def line_of(text: str, at: str) -> int:
    """Return the line on which ``at`` stands."""
    return text[: text.index(at)].count("\n") + 1


def test_the_house_has_no_findings() -> None:
    assert found() == ()


@pytest.mark.parametrize("fault", CASES)
def test_each_rule_catches_its_fault_on_its_line(fault: Fault) -> None:
    texts = seeded(fault, fault.new)
    blamed = fault.blames or fault.file
    caught = [finding for finding in found(**texts) if finding.rule == fault.rule and fault.says in finding.message]
    assert [(finding.file, finding.line) for finding in caught] == [
        (f"house/{blamed}.toml", line_of(texts[blamed], fault.at))
    ]


@pytest.mark.parametrize("fault", CASES)
def test_the_twin_of_each_fault_is_clean(fault: Fault) -> None:
    assert found(**seeded(fault, fault.twin)) == ()


def test_a_finding_is_one_line_with_file_line_rule_and_remedy() -> None:
    text = str(Finding("a.toml", 3, "timeout", "OPEN arms\nOpenOverdue"))
    assert text == "a.toml:3: [timeout] OPEN arms OpenOverdue"


def test_findings_are_in_the_order_of_the_files_and_their_lines() -> None:
    faults = found(DOOR.replace('to = "GONE"', 'to = "GON"'), BELL.replace('to = "QUIET"', 'to = "QUIT"'))
    places = [(finding.file, finding.line) for finding in faults]
    assert places == sorted(places, key=lambda place: (place[0] != "house/door.toml", place[1]))
    assert {file for file, _ in places} == {"house/door.toml", "house/bell.toml"}


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    text = str(Finding("a\x1b[2J.toml", 1, "type", "red \x1b[31m <script> -->"))
    assert text == "a\\x1b[2J.toml:1: [type] red \\x1b[31m <script> -->"
