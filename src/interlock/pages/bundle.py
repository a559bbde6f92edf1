"""A page in one file: the modules, the style and the data inside, and a policy that allows these and nothing else.

Modules are joined by their own two forms, which a test holds them to: an import is one line, ``import { a, b } from
"./x.js";``, and what is exported says so where it is declared. Each becomes a function that returns its exports.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from interlock.pages.assets import text
from interlock.pages.drawn import machines

IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "\./([\w.]+)";$', re.MULTILINE)
EXPORT: Final = re.compile(r"^export (?=(?:const|function|class) ([\w$]+))", re.MULTILINE)

TONES: Final = {"conforms": "open", "parts": "bad", "incomplete": "bad"}


def replay_page(title: str, verdict: str, report: str, note: str, sessions: dict[str, list[bytes]]) -> str:
    """Return the page of a replay. ``sessions`` has the records of each, as JSON; ``note`` says what is left out."""
    told = [{"id": name, "records": [msgspec.Raw(line) for line in lines]} for name, lines in sessions.items()]
    data = {"machines": machines(), "verdict": verdict, "report": report, "note": note, "sessions": told}
    style, script = text("style.css"), joined("replay.js")
    parts = {
        "policy": f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'",
        "title": html.escape(title),
        "verdict": verdict,
        "tone": TONES[verdict],
        "style": style,
        "script": script,
        "data": in_markup(data),
    }
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], text("replay.html"))


def in_markup(data: Any) -> str:
    """Return data as JSON that no parser of HTML finds anything in."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def joined(entry: str) -> str:
    """Return one script that does what the module ``entry`` does, and needs no other file."""
    pieces = [f'modules["{name}"] = (() => {{\n{_scoped(name)}}})();' for name in needed(entry)]
    return "\n".join(["const modules = {};", *pieces, ""])


def needed(entry: str) -> list[str]:
    """Return the modules that ``entry`` needs, each behind those that it needs itself, and ``entry`` last."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for found in IMPORT.finditer(text(name)):
            visit(found[2])
        order.setdefault(name)

    visit(entry)
    return list(order)


def _scoped(name: str) -> str:
    source = text(name)
    inside = IMPORT.sub(lambda found: f'const {{ {found[1]} }} = modules["{found[2]}"];', source)
    names = ", ".join(_exports(source))
    return f"{EXPORT.sub('', inside)}return {{ {names} }};\n"


def _exports(source: str) -> Iterator[str]:
    return (found[1] for found in EXPORT.finditer(source))


def _hash(inside: str) -> str:
    """Return how a policy names what stands in the page itself."""
    return f"sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}"
