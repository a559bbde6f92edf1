"""Writes docs/benchmarks.md, and a plot for each benchmark that drew none, from what lies in benchmarks/results.

    python benchmarks/collect.py            # `make bench` ends with it

A result is a JSON file, called like its benchmark: ``where`` says what it ran on, everything else is figures. A mapping
or a list of rows becomes a table, one value becomes a line; ``plot`` names the column to draw, where the first ratio is
not the one. What a benchmark measures is said once, in the first paragraphs of its own docstring.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "benchmarks.md"

HEAD = """\
<!-- Written by `python benchmarks/collect.py` from benchmarks/results; never edited. -->

# Benchmarks

Every figure of every benchmark, as `make bench` wrote it last. Each is measured beside its peer in the same run, and
the machine is a shared one: trust the ratios, not the seconds. The text of each section is that of the benchmark
itself, and `python benchmarks/NAME.py` repeats it alone.

"""

Table: TypeAlias = "dict[str, dict[str, Any]]"
"""Rows by name; the values of a row by column."""


def main() -> None:
    """Write the page and the plots."""
    for path in results():
        if not path.with_suffix(".svg").exists() or is_ours(path.with_suffix(".svg")):
            plot(path)
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.relative_to(HERE.parent)}: {len(results())} benchmarks")


def results() -> list[Path]:
    """Return the results that there are."""
    return sorted(RESULTS.glob("*.json"))


def page() -> str:
    """Return the page."""
    return HEAD + "\n\n".join("\n\n".join(section(path)) for path in results()) + "\n"


def section(path: Path) -> Iterator[str]:
    """Yield the paragraphs of one benchmark."""
    found = json.loads(path.read_text("utf-8"))
    yield f"## {path.stem}"
    yield about(HERE / f"{path.stem.partition('.')[0]}.py")
    ran_on = ", ".join(f"{name} {value}" for name, value in found.pop("where", {}).items())
    yield f"Ran on: {ran_on}."
    if path.with_suffix(".svg").exists():
        yield f"![{path.stem}](../benchmarks/results/{path.stem}.svg)"
    for name, rows in tables(found):
        yield shown(name, rows)
    if facts := [f"{named(name)}: {value(one)}" for name, one in found.items() if is_plain(one) and name != "plot"]:
        yield "; ".join(facts) + "."


def about(source: Path) -> str:
    """Return what a benchmark says of itself, without the lines that are code."""
    text = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return "\n\n".join(
        part
        for part in re.sub(r":\w+:`~?", "`", text.replace("``", "`")).split("\n\n")
        if not part.startswith(("python ", "    "))
    )


# ------------------------------------------------------------------------------------------------------------- tables


def tables(found: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Table]]:
    """Yield every table in a result, with the names that lead to it."""
    for key, one in found.items():
        where = f"{name} {key}".strip() if key != "rows" else name
        if rows := as_table(one):
            yield where, rows
        elif isinstance(one, Mapping):
            yield from tables(one, where)


def as_table(one: Any) -> Table:
    """Return rows, if that is what ``one`` is: rows of the same columns, by name or in a list, or else no rows."""
    if isinstance(one, Mapping) and one and all(map(is_plain, one.values())):
        return {named(key): {"": figure} for key, figure in one.items()}
    rows = dict(enumerate(one)) if isinstance(one, list) else one if isinstance(one, Mapping) else {}
    if not all(isinstance(row, Mapping) and all(map(is_plain, row.values())) for row in rows.values()):
        return {}
    shared = set.intersection(*map(set, rows.values())) if rows else set()
    return {str(key): dict(row) for key, row in rows.items()} if shared else {}


def is_plain(one: Any) -> bool:
    """Say whether a value fits in a cell."""
    return not isinstance(one, Mapping | list)


def shown(name: str, rows: Table) -> str:
    """Return a table as Markdown. Rows of a list say themselves what they are called."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    is_list = list(rows) == [str(number) for number in range(len(rows))]
    lines = [[*([] if is_list else [""]), *map(named, columns)]]
    lines.append(["---" if at == 0 else "---:" for at in range(len(lines[0]))])
    lines += [[*([] if is_list else [key]), *(value(row.get(one, "")) for one in columns)] for key, row in rows.items()]
    return (f"**{named(name)}**\n\n" if name else "") + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def named(column: str) -> str:
    """Return the name of a column as words."""
    return column.replace("_", " ")


def value(one: Any) -> str:
    """Return a value as it stands in a cell."""
    if isinstance(one, bool):
        return "yes" if one else "no"
    if isinstance(one, float):
        return f"{one:,.0f}" if abs(one) >= 1000 else f"{one:.4g}"
    return f"{one:,}" if isinstance(one, int) else str(one)


# -------------------------------------------------------------------------------------------------------------- plots

BY_US = "<!-- plotted by benchmarks/collect.py -->"


def is_ours(path: Path) -> bool:
    """Say whether a plot is one of this file's, which may be drawn anew."""
    return BY_US in path.read_text("utf-8")


def plot(path: Path) -> None:
    """Draw one column of the first table that has it: the one that the result names, else the first ratio or rate."""
    found = json.loads(path.read_text("utf-8"))
    wanted = (found["plot"],) if "plot" in found else LIKELY
    for word in wanted:
        for name, rows in tables({key: one for key, one in found.items() if key != "where"}):
            column = next((one for one in next(iter(rows.values())) if word in one), None)
            numbers = {label(key, row): row[column] for key, row in rows.items() if column in row}
            if len(numbers) > 1 and all(isinstance(one, int | float) for one in numbers.values()):
                draw(numbers, f"{name} {named(str(column))}".strip(), path.with_suffix(".svg"))
                return


LIKELY = ("ratio", "to ", "cost", "per_s", "a_second")
"""Parts of the names of columns that are likely to be the figure that matters, the likeliest first."""


def label(key: str, row: Mapping[str, Any]) -> str:
    """Return what a row is called in a plot: by its words, where it stands in a list."""
    words = [one for one in row.values() if isinstance(one, str)]
    return " ".join(words) if key.isdecimal() and words else key


def draw(numbers: Mapping[str, float], label: str, path: Path) -> None:
    """Draw a bar for each row."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = path.stem
    names = list(numbers)[::-1]
    canvas, axes = pyplot.subplots(figsize=(8, 0.8 + 0.34 * len(names)), layout="constrained")
    bars = axes.barh(names, [numbers[name] for name in names], 0.6, color="#4878a8")
    axes.bar_label(bars, fmt="{:,.4g}", padding=3, fontsize=8)
    if min(numbers.values()) > 0 and max(numbers.values()) > 50 * min(numbers.values()):
        axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.savefig(path, metadata={"Date": None})
    pyplot.close(canvas)
    path.write_text(path.read_text("utf-8").rstrip() + f"\n{BY_US}\n", "utf-8")


if __name__ == "__main__":
    main()
