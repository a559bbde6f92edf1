"""The two sides of a difference: machine files from the disk, or from a revision of git as ``REV:path``.

A path is as git has it: from the root of the repository, or from here with ``./`` in front. Nothing is checked out,
and nothing is written.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import PurePosixPath

from interlock.spec.finding import Faulty, Finding, Unusable
from interlock.spec.plan import Plan, blueprint
from interlock.spec.read import LARGEST, Source, parse, read

PATIENCE_S = 60
"""Longest that git may take for one answer."""


def plans_of(name: str) -> tuple[Plan, ...]:
    """Return the machines that ``name`` means: a file, a folder, or either in a revision of git.

    Raises :class:`Unusable` and :class:`Faulty` as :func:`interlock.spec.read.read` does, and :class:`Unusable` for a
    revision or path that git does not have.
    """
    if os.path.lexists(name) or ":" not in name:
        plans = blueprint(read([name])).plans
    else:
        plans = blueprint(tuple(_sources(name))).plans
    first: dict[str, Plan] = {}
    for plan in plans:
        if first.setdefault(plan.name, plan) is not plan:
            raise Unusable(f"{plan.source.path}: `{plan.name}` is also in {first[plan.name].source.path}; compare one")
    return plans


def _sources(name: str) -> Iterator[Source]:
    findings: list[Finding] = []
    for path, spec in _files(name):
        try:
            yield parse(path, _text(path, spec))
        except Faulty as wrong:
            findings += wrong.findings
    if findings:
        raise Faulty(tuple(sorted(findings)))


def _files(name: str) -> list[tuple[str, str]]:
    """Return the machine files that a revision has under a path: how they are called here, and by git."""
    revision, _, path = name.partition(":")
    if revision.startswith("-"):
        raise Unusable(f"{name}: a revision does not begin with a dash")
    kind = _git(name, "cat-file", "-t", name).decode().strip()
    if kind == "blob":
        return [(name, name)]
    if kind != "tree":
        raise Unusable(f"{name}: is a {kind}, neither a file nor a folder")
    listed = _git(name, "ls-tree", "--full-tree", "-z", name).split(b"\0")
    inside = [(part.partition(b"\t")[2].decode(errors="replace"), part.split()[2].decode()) for part in listed if part]
    found = [(f"{revision}:{PurePosixPath(path) / file}", spec) for file, spec in inside if file.endswith(".toml")]
    if not found:
        raise Unusable(f"{name}: no *.toml in this folder; name the folder that holds your machines")
    return sorted(found)


def _text(path: str, spec: str) -> str:
    if int(_git(path, "cat-file", "-s", spec)) > LARGEST:
        raise Unusable(f"{path}: over {LARGEST} bytes; a machine file is a few hundred lines")
    try:
        return _git(path, "cat-file", "blob", spec).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        raise Unusable(f"{path}: not UTF-8 at byte {wrong.start}; save it as UTF-8") from None


def _git(name: str, *words: str) -> bytes:
    """Return what git answers about ``name``, or raise with the first line of what it says is wrong."""
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False, timeout=PATIENCE_S, env=environment)
    except FileNotFoundError:
        raise Unusable(f"{name}: no such file or folder, and git, which would know revisions, is not here") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as wrong:
        raise Unusable(f"{name}: git cannot be asked: {wrong}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["git says no more"]
        raise Unusable(f"{name}: no such file or folder, and as a revision: {said[0].removeprefix('fatal: ')}")
    return done.stdout
