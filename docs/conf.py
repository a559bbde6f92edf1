"""How the documentation is built: `make docs`. Pages are plain Markdown, so that a forge shows them as well."""

from __future__ import annotations

from interlock import __version__

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
