"""The sequence chart as a drawing: one column a machine, one line an arrow, its result beside the lifeline."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from interlock.proof.replay_chart import LANES, Arrow, Chart

LEFT: Final = 120
COLUMN: Final = 190
ROW: Final = 30
TOP: Final = 56
NOTE: Final = 118
"""Letters of a note that fit."""

STYLE: Final = """\
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #222 }
.head { font-weight: bold; text-anchor: middle } .time { fill: #777; text-anchor: end } .what { text-anchor: middle }
.state { fill: #1a5fb4 } .note { fill: #777 } .life { stroke: #ccc } .arrow { stroke: #222; marker-end: url(#tip) }"""

TIP: Final = """\
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="#222"/></marker></defs>"""


def drawn(chart: Chart) -> str:
    """Return the chart as SVG."""
    chart.end()
    width, height = LEFT + COLUMN * len(LANES), TOP + ROW * (len(chart.arrows) + 2)
    began = chart.arrows[0].at if chart.arrows else 0.0
    lines = [line for index, arrow in enumerate(chart.arrows) for line in _arrow(arrow, TOP + ROW * (index + 1), began)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
            f"<title>{escape(chart.session)}</title>",
            f"<style>{STYLE}</style>",
            TIP,
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="{LEFT}" y="18">{escape(chart.session)}</text>',
            *_lifelines(height),
            *lines,
            "</svg>\n",
        ]
    )


def _lifelines(height: int) -> Iterator[str]:
    for index, lane in enumerate(LANES):
        x = _x(lane)
        yield f'<text class="head" x="{x}" y="{TOP - 14}">{LANES[index]}</text>'
        yield f'<line class="life" x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - 8}"/>'


def _arrow(arrow: Arrow, y: int, began: float) -> Iterator[str]:
    if arrow.event:
        yield f'<text class="time" x="{LEFT - 12}" y="{y}">{arrow.event}  {arrow.at - began:.3f} s</text>'
    start, end = _x(arrow.start), _x(arrow.end)
    if arrow.start == arrow.end and arrow.end in ("world", "runtime"):
        yield _text("note", LEFT + 4 if arrow.end == "world" else LEFT + COLUMN, y, arrow.label[:NOTE], arrow.label)
        return
    if start == end:
        start += 60
    yield f'<line class="arrow" x1="{start}" y1="{y + 2}" x2="{end}" y2="{y + 2}"/>'
    yield _text("what", (start + end) // 2, y - 1, arrow.label, arrow.label)
    yield _text("state", end + 6, y + 14, arrow.result, arrow.result)


def _text(kind: str, x: int, y: int, shown: str, whole: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(shown)}<title>{escape(whole)}</title></text>'


def _x(lane: str) -> int:
    return LEFT + COLUMN * LANES.index(lane) + COLUMN // 2
