"""How the documentation is built: `make docs`. Pages are plain Markdown, so that a forge shows them as well."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

from interlock import __version__

ROOT = Path(__file__).parents[1]

project = "Interlock"
author = "The Interlock authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["examples"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
nitpicky = False

html_theme = "furo"
html_title = f"Interlock {__version__}"
html_copy_source = False
html_show_sphinx = False
html_static_path: list[str] = []
pygments_style = "tango"
pygments_dark_style = "monokai"

ELSEWHERE = {
    "index": "README.md",
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "security-policy": "SECURITY.md",
    "testing": "tests/README.md",
}
"""Pages whose text lies where a forge looks for it, above `docs/`."""


def from_elsewhere(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the file that a page stands for before it, its links seen from `docs/`; and lead other pages to that page."""
    if page in ELSEWHERE:
        path = ROOT / ELSEWHERE[page]
        app.env.note_dependency(str(path))
        above = re.sub(r"\]\((?![a-z]+:|#)", f"]({'../' * (1 + ELSEWHERE[page].count('/'))}", path.read_text("utf-8"))
        source[0] = above.replace("](../docs/", "](") + source[0]
    for other, name in ELSEWHERE.items():
        source[0] = source[0].replace(f"](../{name}", f"]({other}.md")


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the pages that lie elsewhere."""
    app.connect("source-read", from_elsewhere)
