"""What a replay has come to: as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interlock.proof.replay import Replay
from interlock.proof.replay_finding import KINDS, UNUSABLE, Finding
from interlock.proof.replay_input import Input
from interlock.proof.replay_target import Target, Version

SHOWN = 20
"""Findings that the text has; JSON has all."""

CONFORMS, PARTS, NOT_JUDGED = 0, 1, 2


@dataclass(frozen=True)
class Report:
    """The result. ``code`` is 0 when every record is what the tables say, 1 when one is not, 2 when some are cut."""

    replay: Replay
    read: Input
    target: Target
    findings: Sequence[Finding]
    seconds: float

    @property
    def code(self) -> int:
        """Return the exit code."""
        if any(finding.kind not in UNUSABLE for finding in self.findings):
            return PARTS
        return NOT_JUDGED if self.findings else CONFORMS

    @property
    def verdict(self) -> str:
        """Say it in one word."""
        return ("conforms", "parts", "incomplete")[self.code]

    @property
    def changed(self) -> list[Version]:
        """Return how the machines of the trace differ from those that it was held against, where they do."""
        return [version for version in self.read.versions if version.changed]

    def as_json(self) -> str:
        """Return it as one JSON document."""
        replay = self.replay
        versions = [{name: {"trace": a, "tables": b} for name, (a, b) in v.changed.items()} for v in self.changed]
        plain: dict[str, Any] = {
            "verdict": self.verdict,
            "against": self.target.label,
            "changed": versions,
            "files": self.read.files,
            "sessions": replay.judged,
            "events": replay.events,
            "rows": replay.rows,
            "effects": replay.effects,
            "not_judged": replay.unjudged,
            "findings": [finding.as_json() for finding in self.findings],
            "seconds": round(self.seconds, 3),
        }
        return json.dumps(plain, indent=2, default=str)

    def __str__(self) -> str:
        lines = [*self._what_it_is(), *(line for finding in self.findings[:SHOWN] for line in _told(finding))]
        if len(self.findings) > SHOWN:
            lines.append(f"and {len(self.findings) - SHOWN} more findings; --json has all")
        return "\n".join([*lines, self._sum()])

    def _what_it_is(self) -> list[str]:
        lines = [f"against {self.target.label}"] if self.target.label != Target().label else []
        lines += [f"recorded under another version of {version}" for version in self.changed]
        if self.read.first_part != 1:
            lines.append(f"begins with part {self.read.first_part} of its run: what came before is not judged")
        return lines

    def _sum(self) -> str:
        replay, counted = self.replay, _counted
        unjudged = f"; {counted(replay.unjudged, 'record')} after a finding not judged" if replay.unjudged else ""
        what = f"{counted(replay.events, 'event')} of {counted(replay.judged, 'session')}"
        did = f"{counted(replay.rows, 'delivery')}, {counted(replay.effects, 'effect')}"
        return f"{self.verdict}: {what}, {did}, in {counted(self.read.files, 'file')}{unjudged}"


def _told(finding: Finding) -> list[str]:
    what = (
        f"event {finding.event}, record {finding.n} of {finding.session}, {finding.name}: " if finding.session else ""
    )
    lines = [f"{finding.kind}: {finding.place}: {what}{finding.what}"]
    found = finding.difference
    if found is not None:
        lines[0] = f"{finding.kind}: {finding.place}: {what}{found.where}"
        lines += [f"    the trace has  {found.trace}", f"    the tables say {found.tables}"]
        lines += [f"    by {found.by}"] if found.by else []
    else:
        lines.append(f"    {KINDS[finding.kind]}")
    return lines + ([f"    after {', '.join(finding.before)}"] if finding.before else [])


def _counted(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
