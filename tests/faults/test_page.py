"""docs/faults.md: each id of the catalogue once, each with a test that exists and bears its id, or an exclusion."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

CATALOGUE = {
    "AT": (1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 14, 15, 17, 19, 21, 23),
    "LE": (1, 2, 4, 6, 8),
    "FE": (1, 3, 4, 5, 7, 9, 11, 12, 14, 15, 17, 18, 20, 21, 24, 26, 27),
    "SR": (1, 2, 4, 5, 6, 8, 10, 11, 12, 15, 17, 19, 20),
    "AP": (1, 2, 3, 5, 6, 8, 10, 11, 13, 14, 16, 18, 19, 21, 22),
    "JR": (1, 3, 5, 6, 8, 10, 11, 12, 14, 15),
    "TW": (1, 2, 3, 4, 6, 8, 10, 11, 12),
    "SC": (1, 3, 4, 6, 8, 10, 12, 13, 15, 16, 17, 19, 20, 22),
}
IDS = [f"{group}-{number:02}" for group, numbers in CATALOGUE.items() for number in numbers]


def rows() -> dict[str, list[str]]:
    """Return the rows of all tables by their first cell."""
    page = (ROOT / "docs" / "faults.md").read_text()
    found: dict[str, list[str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"[A-Z]{2}-\d\d|I\d+", cells[0]):
            assert cells[0] not in found, f"{cells[0]} stands there twice"
            found[cells[0]] = cells[1:]
    return found


def written() -> set[str]:
    """Return the names of all tests."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}


def test_the_page_lists_each_fault_and_each_invariant_once() -> None:
    assert len(IDS) == len(set(IDS)) == 99
    assert sorted(rows()) == sorted([*IDS, *(f"I{number}" for number in range(1, 13))])


def test_each_line_names_a_test_that_exists_and_a_fault_s_test_bears_its_id() -> None:
    tests = written()
    for name, cells in rows().items():
        named = re.findall(r"`(test_\w+)`", cells[-1])
        assert named, f"{name} names no test"
        assert set(named) <= tests, f"{name} names a test that is not there: {set(named) - tests}"
        if name in IDS:
            assert any(name.lower().replace("-", "_") in test for test in named), f"no test of {name} bears its id"


def test_what_is_owed_says_by_whom() -> None:
    for name, cells in rows().items():
        for owner in re.findall(r"owed by ([\w ]+?)(?:;|$)", cells[-1]):
            assert owner in {"workers on GPU", "SDKs", "asyncio bridge", "exploring"}, (name, owner)
