"""From paths to forms: what is on the disk, or one clear line that says why it cannot be used."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from interlock.spec.finding import Faulty, Finding, Unusable, one_line
from interlock.spec.form import BirthForm, Form, MachineForm, MessageForm, RowForm, StateForm, TimeoutForm, WorkForm
from interlock.spec.scan import lines_of

LARGEST = 4_000_000
"""Bytes of a machine file: well over 10,000 rows. A machine that needs more is not one that people review."""

_CHAIN = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")
"""A dotted key of such a depth that reading it takes time by the square of it."""


@dataclass(frozen=True, slots=True)
class Source:
    """One machine file: its form, and where everything in it stands."""

    path: str
    text: str
    lines: Mapping[tuple[str | int, ...], int]
    form: MachineForm

    @property
    def label(self) -> str:
        """Return the name that generated files carry: folder and file, wherever the command was run."""
        path = Path(self.path).resolve()
        return f"{path.parent.name}/{path.name}"

    @property
    def sha256(self) -> str:
        """Return the hash that generated files carry."""
        return digest(self.text)

    def line(self, *path: str | int) -> int:
        """Return the line of the key at ``path``, or of the nearest thing around it."""
        return nearest(self.lines, path)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, the same on every platform."""
    return hashlib.sha256(text.encode()).hexdigest()


def nearest(lines: Mapping[tuple[str | int, ...], int], path: tuple[str | int, ...]) -> int:
    """Return the line of ``path``, of the same path without indices, or of the longest part of it that is there."""
    for size in range(len(path), 0, -1):
        plain = tuple(part for part in path[:size] if isinstance(part, str))
        for known in (path[:size], plain):
            if known in lines:
                return lines[known]
    return 1


def files_in(paths: Iterable[str]) -> list[Path]:
    """Return the machine files that ``paths`` name: a file is itself, a folder its ``*.toml``.

    Raises :class:`Unusable` for a path that is not there, and for a folder without machines.
    """
    found: list[Path] = []
    for name in paths:
        try:
            found += _files_at(Path(name), one_line(name))
        except OSError as wrong:
            raise Unusable(f"{one_line(name)}: cannot be read: {wrong.strerror}") from None
    return list(dict.fromkeys(found))


def _files_at(path: Path, name: str) -> list[Path]:
    if not path.is_dir():
        if path.exists():
            return [path]
        raise Unusable(f"{name}: no such file or folder")
    inside = sorted(entry for entry in path.iterdir() if entry.name.endswith(".toml"))
    if not inside:
        raise Unusable(f"{name}: no *.toml in this folder; name the folder that holds your machines")
    return inside


def read(paths: Iterable[str]) -> tuple[Source, ...]:
    """Read the machine files that ``paths`` name.

    Raises :class:`Unusable` for what is no TOML text, and :class:`Faulty` for one of another shape than ours.
    """
    sources: list[Source] = []
    findings: list[Finding] = []
    for path in files_in(paths):
        try:
            sources.append(parse(str(path), text_in(path)))
        except Faulty as wrong:
            findings += wrong.findings
    if findings:
        raise Faulty(tuple(sorted(findings)))
    return tuple(sources)


def parse(path: str, text: str) -> Source:
    """Read one machine from its text. Raises :class:`Unusable` and :class:`Faulty`, as :func:`read` does."""
    name = one_line(path)
    try:
        if _CHAIN.search(text):
            raise RecursionError
        values, lines = tomllib.loads(text), lines_of(text)
    except RecursionError:
        raise Unusable(f"{name}: not TOML: nested too deeply") from None
    except ValueError as wrong:
        raise Unusable(f"{name}: not TOML: {one_line(str(wrong))}") from None
    try:
        return Source(path, text, lines, MachineForm.model_validate(values))
    except ValidationError as wrong:
        raise Faulty(tuple(_finding(path, lines, error) for error in wrong.errors())) from None


def text_in(path: Path) -> str:
    """Return what a file says, or raise :class:`Unusable` with the reason why it cannot be used."""
    name = one_line(str(path))
    try:
        if path.exists() and not path.is_file():
            raise Unusable(f"{name}: cannot be read: it is no regular file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise Unusable(f"{name}: over {LARGEST} bytes; a machine file is a few hundred lines")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        raise Unusable(f"{name}: not UTF-8 at byte {wrong.start}; save it as UTF-8") from None
    except OSError as wrong:
        raise Unusable(f"{name}: cannot be read: {wrong.strerror}") from None


_EXPECTED = {
    r"^[A-Z][A-Z0-9_]*$": "a state is written in CAPITALS",
    r"^[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*$": "a message or a work is written in CamelCase",
    r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$": "a guard, assignment, field, setting, origin or machine is written in snake_case",
    r"^[a-z][a-z0-9_]*$": "a wire code is written in lower_case",
}


def _finding(path: str, lines: Mapping[tuple[str | int, ...], int], error: Any) -> Finding:
    where = tuple(part for part in error["loc"] if part != "[key]")
    name = ".".join(str(part) for part in where)
    line = nearest(lines, where)
    match error["type"]:
        case "extra_forbidden":
            known = ", ".join(keys_at(where[:-1]))
            text = f"unknown key `{where[-1]}` in {_place(where)}; known are {known}"
            return Finding(path, line, "unknown-key", text)
        case "missing":
            return Finding(path, line, "missing-key", f"`{name}` is missing; add it")
        case "string_pattern_mismatch":
            expected = _EXPECTED[error["ctx"]["pattern"]]
            return Finding(path, line, "name", f"`{error['input']}` at {name}: {expected}")
        case _:
            return Finding(path, line, "type", f"`{name}`: {error['msg']}")


def _place(where: tuple[str | int, ...]) -> str:
    return f"`{'.'.join(map(str, where[:-1]))}`" if len(where) > 1 else "the file"


def keys_at(path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the format knows at ``path``."""
    parts = [part for part in path if isinstance(part, str)]
    form: type[BaseModel]
    match parts:
        case ["state", _]:
            form = StateForm
        case ["state", _, "timeouts", *_]:
            form = TimeoutForm
        case ["state", *_]:
            form = RowForm
        case ["message", *_]:
            form = MessageForm
        case ["work", *_]:
            form = WorkForm
        case ["birth", *_]:
            form = BirthForm
        case _:
            form = MachineForm
    return [field.alias or name for name, field in form.model_fields.items()]


__all__ = ["LARGEST", "Form", "Source", "digest", "files_in", "parse", "read", "text_in"]
