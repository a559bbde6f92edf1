"""A hostile name stays a name: in DOT, SVG, Mermaid, HTML, Markdown and on a terminal, in every kind of drawing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from interlock.draw.diff import Change, Difference, difference
from interlock.draw.diff_dot import diff_dot
from interlock.draw.diff_text import markdown, text
from interlock.draw.dot import dot
from interlock.draw.mermaid import mermaid, mermaid_overview
from interlock.draw.overview import overview
from interlock.draw.svg import svg
from interlock.spec.form import MachineForm
from interlock.spec.plan import Blueprint, Plan, blueprint
from interlock.spec.read import Source, parse
from tests.draw.test_dot import NASTY, odd
from tests.draw.test_mermaid import LINE
from tests.draw.versions import door
from tests.spec.house import BELL, DOOR

HOSTILE = [
    *NASTY,
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</svg><script>x</script>",
    "]]></style>",
    "<!-- -->",
    "--!>",
    "```\n<script>",
    "`code`",
    "[link](javascript:x)",
    "\x1b[31mred\x07",
    "\u202egnp.exe",
    "\udcff",
    "%%{init: {}}%%",
    'URL="javascript:x"',
    "&lt;b&gt; &#60;",
    "\\N \\G \\E",
    "${x} $(x) {{x}}",
]
DRAWN = {"svg", "g", "title", "polygon", "path", "text", "ellipse", "a", "html", "body", "h1", "p", "pre", "br", "b"}


class Page(HTMLParser):
    """Notes every tag and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def page(*parts: str) -> Page:
    """Return what a browser finds on a page that has these parts."""
    found = Page()
    found.feed(f"<html><body><h1>Drawing</h1>{''.join(parts)}<p>end</p></body></html>")
    found.close()
    return found


def hostile(name: str) -> Plan:
    """Return a plan whose every word that a reader sees is ``name``, past the patterns that a file has to obey."""
    form = parse("house/bell.toml", BELL).form
    event = "".join(char if char.isprintable() else "?" for char in name)  # what Python takes as the name of a type
    state = form.state["RINGING"].model_copy(update={"doc": name, "on": {event: form.state["RINGING"].on["BellHeard"]}})
    fields = {"machine": name, "doc": name, "per": name, "created_by": None, "initial": "RINGING"}
    states = {"RINGING": state, name: form.state["QUIET"]}
    copy: MachineForm = form.model_copy(
        update={**fields, "state": states, "final": [name], "events": {name: [event]}, "effects": [name], "message": {}}
    )
    return Plan(Source(f"house/{name}.toml".replace("\0", ""), BELL, {}, copy))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_with_every_drawing_has_no_tag_that_is_not_ours(name: str) -> None:
    plan = hostile(name)
    machines = Blueprint((plan, door()))
    drawings = [
        svg(dot(odd(name), {"A": name})),
        svg(overview(machines)),
        svg(diff_dot(difference(door(), plan))),
        svg(diff_dot(difference(plan, None))),
    ]
    texts = [f"<pre>{mermaid(odd(name), {'A': name})}</pre>", f"<pre>{mermaid_overview(machines)}</pre>"]
    for drawing in drawings:
        ET.fromstring(drawing)
    found = page(*(drawing.partition("<svg")[1] + drawing.partition("<svg")[2] for drawing in drawings), *texts)
    assert found.tags <= DRAWN
    assert not {one for one in found.attributes if one.startswith("on") or one in ("href", "src", "xlink:href")}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_line_of_dot_and_mermaid_is_of_its_grammar(name: str) -> None:
    machines = Blueprint((hostile(name), door()))
    for drawing in (dot(odd(name), {"A": name}), overview(machines), diff_dot(difference(hostile(name), door()))):
        head, *body, end = [line for line in drawing.splitlines() if not line.startswith("//")]
        assert (head.startswith("digraph "), end) == (True, "}")
        assert [line for line in body if line and not line.endswith(";")] == []
    for lines in (mermaid(odd(name), {"A": name}), mermaid_overview(machines)):
        assert [line for line in lines.splitlines() if not LINE.fullmatch(line)] == []


def told(name: str) -> Difference:
    return Difference(None, hostile(name), (), (Change("added", name, name, name), Change("changed", name, name, name)))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_of_text_stays_a_line_that_a_terminal_can_show(name: str) -> None:
    lines = list(text([told(name)]))
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leaves_the_fence_of_markdown(name: str) -> None:
    lines = markdown([told(name)], name, name).splitlines()
    assert lines[0].startswith("### Machines: `")
    assert lines[0].count("`") == 4
    assert (lines[4], lines[-1]) == ("```diff", "```")
    assert [line for line in lines[5:-1] if not line.startswith(("+ ", "! "))] == []
    assert sum("```" in line for line in lines) == 2
    outside = re.sub(r"```diff\n.*?\n```", "", "\n".join(lines), flags=re.DOTALL)
    assert "<" not in re.sub(r"`[^`]*`", "", outside)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name.isprintable() and name])
def test_what_a_file_may_say_freely_is_shown_as_it_is(name: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    text_ = DOOR.replace("only the motor knows where the door is", quoted).replace("A door with a motor.", quoted)
    machines = blueprint((parse("house/door.toml", text_), parse("house/bell.toml", BELL)))
    drawing = svg(diff_dot(difference(None, machines.machines["door"])))
    said = "".join(part.text or "" for part in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text"))
    squeezed = re.sub(r"\s", "", said)
    assert re.sub(r"\s", "", name) in squeezed.replace("\u2060", "")
