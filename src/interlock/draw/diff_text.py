"""What changed, in words: one line a change, or Markdown for the comment of a pull request.

In Markdown the changes stand in a fence of the kind ``diff``, which GitHub colours, and in which nothing is Markdown
or HTML: whatever a name says, it stays a line of that fence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from interlock.draw.diff import Change, Difference
from interlock.draw.diff_words import Mark
from interlock.draw.ink import one_line

SIGNS: dict[Mark, str] = {"added": "+", "removed": "-", "changed": "!"}
"""How the fence marks a line; GitHub colours these green, red and amber."""

SAME = "no difference: the machines are the same"
REMARKS = "no difference in meaning: only comments, layout or order were edited"


def text(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield one line for each change, and a last one that counts them."""
    changes = [change for one in differences for change in one.changes]
    yield from (one_line(str(change)) for change in changes)
    yield summary(differences)


def summary(differences: Sequence[Difference]) -> str:
    """Return in one line how much changed."""
    changed = [one for one in differences if one.changes]
    if not changed:
        return SAME if all(_alike(one) for one in differences) else REMARKS
    names = ", ".join(one_line(one.plan.name) for one in changed)
    return f"{_counted([change for one in changed for change in one.changes])} in {names}"


def markdown(differences: Sequence[Difference], old: str, new: str) -> str:
    """Return the changes from ``old`` to ``new``, as they were called, for a comment."""
    lines = [f"### Machines: {_code(old)} to {_code(new)}", ""]
    changed = [one for one in differences if one.changes]
    if not changed:
        lines += [f"{summary(differences).capitalize()}.", ""]
    for one in changed:
        lines += [f"**{_code(one.plan.name)}**: {_counted(one.changes)}", "", "```diff"]
        lines += [f"{SIGNS[change.mark]} {_fenced(change)}" for change in one.changes]
        lines += ["```", ""]
    return "\n".join(lines)


def _alike(difference: Difference) -> bool:
    old, new = difference.old, difference.new
    return old is not None and new is not None and old.source.sha256 == new.source.sha256


def _counted(changes: Iterable[Change]) -> str:
    marks = [change.mark for change in changes]
    kinds = ", ".join(f"{marks.count(mark)} {mark}" for mark in SIGNS if mark in marks)
    return f"{len(marks)} change{'' if len(marks) == 1 else 's'} ({kinds})"


def _fenced(change: Change) -> str:
    return one_line(f"{change.where}: {change.what}").replace("```", "'''")


def _code(name: str) -> str:
    """Return a name as code, which a backtick in it does not end."""
    return f"`{one_line(name).replace('`', chr(39)) or ' '}`"
