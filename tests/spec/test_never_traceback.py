"""Whatever becomes of a machine file, the answer is findings, one line, or modules that Python reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.draw.dot import dot
from interlock.spec.build import built
from interlock.spec.check import checked, findings
from interlock.spec.compile import compiled
from interlock.spec.finding import Faulty, Unusable
from interlock.spec.plan import blueprint
from interlock.spec.read import parse
from tests.spec.house import BELL, DOOR

LINES = DOOR.splitlines()
WORDS = sorted({word for line in LINES for word in line.replace('"', " ").split() if word[0].isalpha()})
EDIT = st.tuples(
    st.sampled_from(["drop", "double", "swap", "word"]), st.integers(0, len(LINES) - 1), st.integers(0, 999)
)


def edited(edits: list[tuple[str, int, int]]) -> str:
    """Return the door after somebody was careless with it."""
    lines = list(LINES)
    for kind, at, number in edits:
        line = lines[at]
        if kind == "drop":
            lines[at] = ""
        elif kind == "double":
            lines[at] = f"{line}\n{line}"
        elif kind == "swap":
            lines[at], lines[number % len(lines)] = lines[number % len(lines)], line
        else:
            lines[at] = line.replace(WORDS[number % len(WORDS)], WORDS[number * 7 % len(WORDS)])
    return "\n".join(lines)


@settings(max_examples=400, deadline=None)
@given(st.lists(EDIT, min_size=1, max_size=4))
def test_a_careless_edit_is_a_finding_or_compiles(edits: list[tuple[str, int, int]]) -> None:
    try:
        plans = blueprint((parse("door.toml", edited(edits)), parse("bell.toml", BELL)))
    except (Faulty, Unusable):
        return
    found = findings(plans)
    assert all(finding.line >= 1 and "\n" not in str(finding) for finding in found)
    if not found:
        for name, text in compiled(plans, "house").items():
            compile(text, name, "exec")
        assert all(dot(table).endswith("}\n") for table in built(plans).values())


VALUES = [
    "1",
    "-0.5",
    "true",
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "''",
    '"A"',
    '["A", "B"]',
    "{ A = 1 }",
    "1979-05-27",
    '"\\u0000"',
]
VALUES += ['{ to = "OPEN" }', "[{}, {}]", "{ Go = 'x' }", '[{ after = "a_s", event = "Go" }]', "nan", "{ a.b.c = 1 }"]
KEYS = sorted({line.partition("=")[0].strip() for line in LINES if "=" in line})
SMALL = """\
machine = "a"
doc = "A."
initial = "A"
final = ["B"]
events.host = ["Go"]
message.Go.doc = "Go."
[state.B]
[state.A]
on.Go = { to = "B" }
"""
LINE = st.one_of(
    st.sampled_from(LINES),
    st.builds("{} = {}".format, st.sampled_from(KEYS), st.sampled_from(VALUES)),
    st.text(alphabet="abAB_.=[]{}'\"# \t,01\\\u00e9\u2028", max_size=12),
)
TEXT = st.lists(LINE, max_size=8).map(lambda lines: "\n".join(lines).encode())


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(TEXT, TEXT.map(SMALL.encode().__add__), st.binary(max_size=40)))
def test_the_loader_takes_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    assert all(line.startswith(str(path)) for line in told(path).splitlines())


def told(path: Path) -> str:
    """Return what is wrong with a file; nothing when it compiles."""
    try:
        return "".join(compiled(checked([str(path)]), "house"))[:0]
    except (Faulty, Unusable) as wrong:
        return str(wrong)
