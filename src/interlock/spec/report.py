"""What a check has to say, as text for people, as JSON for programs, and as annotations for GitHub."""

from __future__ import annotations

import json
from collections.abc import Sequence

from interlock.spec.finding import Finding, one_line
from interlock.spec.plan import Blueprint
from interlock.spec.rules import RULES, Rule

SHOWN = 1000
"""Findings that are printed. A file that has more of them is not read line by line."""

FORMATS = ("text", "json", "github")


def report(found: Sequence[Finding], checked: Blueprint | None, form: str) -> str:
    """Return what is said about a check that is over: ``checked`` is there when nothing was found."""
    if form == "json":
        return _json(found, checked)
    lines = [_annotation(finding) if form == "github" else str(finding) for finding in found[:SHOWN]]
    return "\n".join([*lines, _summary(found, checked)])


def listed_rules(form: str) -> str:
    """Return every rule with its reason, and what it catches beside what it lets pass."""
    if form == "json":
        return json.dumps([rule._asdict() for rule in RULES], indent=2)
    return "\n\n".join(map(_explained, RULES))


def counted(number: int, noun: str) -> str:
    """Return ``1 state``, ``2 states``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _summary(found: Sequence[Finding], checked: Blueprint | None) -> str:
    if checked is None:
        more = f"; the first {SHOWN} are shown" if len(found) > SHOWN else ""
        return counted(len(found), "finding") + more
    sizes = (counted(number, noun) for noun, number in _sizes(checked).items())
    return f"{', '.join(sizes)}: no findings"


def _sizes(checked: Blueprint) -> dict[str, int]:
    states = sum(len(plan.form.state) for plan in checked.plans)
    return {"machine": len(checked.plans), "state": states, "row": sum(len(plan.rows) for plan in checked.plans)}


def _json(found: Sequence[Finding], checked: Blueprint | None) -> str:
    sizes = {} if checked is None else {f"{noun}s": number for noun, number in _sizes(checked).items()}
    shown = [{**finding._asdict(), "message": one_line(finding.message)} for finding in found]
    return json.dumps({"findings": shown, **sizes}, indent=2)


def _annotation(finding: Finding) -> str:
    """Return a workflow command, of which GitHub shows the message beside the line."""
    place = f"file={_property(one_line(finding.file))},line={finding.line},title={_property(finding.rule)}"
    return f"::error {place}::{_data(one_line(finding.message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _explained(rule: Rule) -> str:
    bad, good = (["    " + line for line in text.splitlines()] for text in (rule.bad, rule.good))
    return "\n".join([rule.name, f"  {rule.reason}", "  bad:", *bad, "  good:", *good])
