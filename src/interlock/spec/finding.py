"""What is wrong with a machine file: one line each, with the place and the remedy."""

from __future__ import annotations

from typing import NamedTuple

from interlock.errors import MachineError


class Finding(NamedTuple):
    """One fault of a machine file. Sorts by place."""

    file: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{one_line(self.file)}:{self.line}: [{self.rule}] {one_line(self.message)}"


def one_line(text: str) -> str:
    """Return ``text`` on one line, and without anything that a terminal would obey."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in " ".join(text.split()))


class Unusable(MachineError):
    """A path cannot be read as a machine file at all. The message is one line and names the path."""


class Faulty(MachineError):
    """Machine files were read, and are wrong."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = findings
