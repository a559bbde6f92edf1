"""docs/benchmarks.md has what the benchmarks wrote, whatever they wrote, and other pages quote it rightly."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from typing import Any

import pytest

from tests.docs.blocks import ROOT

SPEC = importlib.util.spec_from_file_location("collect", ROOT / "benchmarks/collect.py")
assert SPEC is not None
assert SPEC.loader is not None
collect: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(collect)

LISTED = re.search(r"^BENCHMARKS := (.*)$", (ROOT / "Makefile").read_text(), re.M)
BENCHMARKS = LISTED[1].split() if LISTED else []
RESULTS = ROOT / "benchmarks/results"


def test_the_page_is_what_was_measured() -> None:
    assert collect.PAGE.read_text("utf-8") == collect.page(), "run `python benchmarks/collect.py`"


def test_make_bench_runs_every_benchmark() -> None:
    there = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "RESULTS = " in path.read_text()}
    assert there - {"collect"} - set(BENCHMARKS) == set()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_has_left_its_figures(name: str) -> None:
    assert [path for path in RESULTS.glob("*.json") if path.stem.partition(".")[0] == name], f"run benchmarks/{name}.py"


SHAPES = {
    "rows by name": ({"rows": {"a": {"us": 1.5}, "b": {"us": 2}}}, "|  | us |\n| --- | ---: |\n| a | 1.5 |\n| b | 2 |"),
    "a list": ({"rows": [{"kind": "flat", "n": 2000}]}, "| kind | n |\n| --- | ---: |\n| flat | 2,000 |"),
    "one row": ({"replay": {"events_a_s": 3.0}}, "**replay**\n\n|  |  |\n| --- | ---: |\n| events a s | 3 |"),
    "deeper": ({"rows": {"x": [{"n": 1, "ok": True}]}}, "**x**\n\n| n | ok |\n| --- | ---: |\n| 1 | yes |"),
    "nothing in common": (
        {"rows": {"a": {"p": 1}, "b": {"q": 2}}},
        "**a**\n\n|  |  |\n| --- | ---: |\n| p | 1 |\n\n**b**\n\n|  |  |\n| --- | ---: |\n| q | 2 |",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_figures_becomes_a_table(shape: str) -> None:
    found, expected = SHAPES[shape]
    assert "\n\n".join(collect.shown(name, rows) for name, rows in collect.tables(found)) == expected


@pytest.mark.parametrize("page", ["README.md", "docs/comparison.md"])
def test_what_is_said_of_a_step_was_measured(page: str) -> None:
    rows = json.loads((RESULTS / "step.json").read_text())["rows"]
    measured = {row["engine"]: row["ratio"] for row in rows if row["machine"] == "plain"}
    text = (ROOT / page).read_text()
    quoted = {engine: rounded(ratio) for engine, ratio in measured.items() if engine in text}
    assert len(quoted) >= 6
    assert {engine: ratio for engine, ratio in quoted.items() if ratio not in text} == {}


def rounded(ratio: float) -> str:
    """Return a ratio as pages quote it."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}"


PROOFS = ("docs/sweep-report.md", "docs/sweep.md", "docs/faults.md", "docs/proofs.md", "docs/fuzz.md")


def test_what_the_front_page_says_of_proofs_stands_where_it_was_counted() -> None:
    front = (ROOT / "README.md").read_text()
    said = front[front.index("## Proved, not believed") : front.index("## Serve, or embed")]
    counted = "\n".join((ROOT / page).read_text() for page in PROOFS).replace(",", "").replace("Ninety-nine", "99")
    whole = {int(number) for number in re.findall(r"\b\d+\b", counted)}
    for number in re.findall(r"(?<![\w.])(\d[\d,]*\d)(?![\w.]\d)", said):
        assert int(number.replace(",", "")) in whole, number
    for millions in re.findall(r"([\d.]+) million", said):
        assert any(round(number / 1e6, 1) == float(millions) for number in whole), millions


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "benchmarks").glob("*.py")))
def test_a_benchmark_imports_what_there_is(name: str) -> None:
    for node in ast.walk(ast.parse((ROOT / "benchmarks" / name).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("interlock"):
            exec(ast.unparse(node), {})
