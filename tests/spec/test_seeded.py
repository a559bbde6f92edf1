"""One file with a seeded fault for each rule, and its twin without: that rule finds it, alone, as its example says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.spec.check import ALONE, TOGETHER, checked
from interlock.spec.finding import Faulty, Finding
from interlock.spec.plan import blueprint
from interlock.spec.read import read
from interlock.spec.rules import RULES, Rule

SEEDED = Path(__file__).parent / "seeded"
NAMES = [rule.name for rule in RULES]


def found(path: Path) -> tuple[Finding, ...]:
    """Return what the check says about one file."""
    try:
        checked([str(path)])
    except Faulty as wrong:
        return wrong.findings
    return ()


@pytest.mark.parametrize("rule", NAMES)
def test_a_seeded_fault_is_found_by_its_rule_and_by_no_other(rule: str) -> None:
    assert [finding.rule for finding in found(SEEDED / f"{rule}.bad.toml")] == [rule]


@pytest.mark.parametrize("rule", NAMES)
def test_the_twin_without_the_fault_is_clean(rule: str) -> None:
    assert found(SEEDED / f"{rule}.good.toml") == ()


def test_every_file_belongs_to_a_rule_and_every_rule_has_both() -> None:
    assert {path.name for path in SEEDED.iterdir()} == {f"{rule}.{kind}.toml" for rule in NAMES for kind in KINDS}


KINDS = ("bad", "good")


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_a_rule_is_what_its_file_says(rule: Rule, kind: str) -> None:
    """Line by line, but for blanks, comments, and rows of which the example shows a part."""
    text = squeezed((SEEDED / f"{rule.name}.{kind}.toml").read_text())
    for line in getattr(rule, kind).splitlines():
        words = squeezed(line.partition(" #")[0])
        if words and not words.startswith("#"):
            assert set(re.findall(r"[\w.]+", words)) <= set(re.findall(r"[\w.]+", text)), line


def squeezed(text: str) -> str:
    """Return a text without what only lays it out."""
    return re.sub(r" +", " ", text).strip()


def test_no_function_of_the_checks_is_without_a_seeded_fault_or_a_named_one() -> None:
    plans = [blueprint(read([str(path)])) for path in sorted(SEEDED.glob("*.bad.toml")) if path.name not in SHAPES]
    idle = {rule.__name__ for rule in ALONE if not any(list(rule(plan)) for one in plans for plan in one.plans)}
    idle |= {rule.__name__ for rule in TOGETHER if not any(list(rule(one)) for one in plans)}
    assert idle <= IN_FAULTS


SHAPES = {f"{name}.bad.toml" for name in ("unknown-key", "missing-key", "type", "name")}
IN_FAULTS = {"cancel_row", "creation", "doubled", "doubled_field", "ends"}
"""Variants of a rule, seeded in faults.py and faults_together.py."""
