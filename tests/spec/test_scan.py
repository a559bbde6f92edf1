"""Line numbers agree with the values of tomllib, path by path, for whatever TOML can say."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.spec.scan import lines_of

MACHINES = sorted((Path(__file__).parents[2] / "machines").glob("*.toml"))

TRICKY = '''\
# a comment with = and [brackets]
"quoted key" = 'a # no comment'
plain = "escaped \\" quote ] } #"
long = """
[not.a.table]
key = "no key" ""\\
end""""
literal = \'\'\'
x = 1\'\'\'
list = [ # comment
    "a", [1, 2,],
    { b = 1, c.d = [true] }, # after
]
date = 1979-05-27 07:32:00
[a.b] # table
"c.d" = {}
a.e = 1
[[many]]
x = 1
[[many]]
x = 2
'''


def paths(value: Any, at: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Return the path of every key and element of a value of tomllib."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {at} if at else set()
    return found.union(*(paths(child, (*at, key)) for key, child in children))


def test_every_path_has_a_line_and_no_other() -> None:
    assert set(lines_of(TRICKY)) == paths(tomllib.loads(TRICKY))


def test_lines_are_counted_from_one() -> None:
    lines = lines_of(TRICKY)
    assert lines["quoted key",] == 2
    assert lines["long",] == 4
    assert lines["list", 1, 0] == 11
    assert lines["list", 2, "c", "d"] == 12
    assert lines["a", "b", "c.d"] == 16
    assert lines["a", "b", "a", "e"] == 17
    assert (lines["many", 0, "x"], lines["many", 1, "x"]) == (19, 21)


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_every_path_of_our_machines_has_a_line(path: Path) -> None:
    text = path.read_text()
    assert set(lines_of(text)) == paths(tomllib.loads(text))


@given(st.text(alphabet="ab.=[]{}'\"#\n ,1\\\\", max_size=60))
def test_whatever_tomllib_reads_is_scanned_to_its_end(text: str) -> None:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert {path for path in paths(value) if all(isinstance(part, str) for part in path)} <= set(lines_of(text))
