"""``interlock serve --show-config``: every setting, its value, where it came from, and what it is.

What is printed is itself a file for ``--config``; secrets and what is not set stand there as remarks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from interlock.serve.config import sections
from interlock.serve.layers import Configured, fields_by_key

HEAD = """\
# Every setting of `interlock serve`, its value, where that came from, and what it is. Usable with --config.
"""


def shown(configured: Configured) -> str:
    """Return the whole tree as TOML, with remarks."""
    lines = [HEAD]
    for branch in sections():
        if branch:
            lines.append(f"\n[{branch}]\n")
        lines.extend(_section(configured, branch))
    lines.extend(f"# {name} looks like a setting, and is none\n" for name in configured.unknown)
    return "".join(lines)


def _section(configured: Configured, branch: str) -> Iterator[str]:
    holder = getattr(configured.config, branch) if branch else configured.config
    for key, field in fields_by_key().items():
        section, _, name = key.rpartition(".")
        if section == branch:
            line = _written(name, getattr(holder, name))
            yield f"{line:<40} # {configured.places[key]}: {field.description}\n"


def _written(name: str, value: Any) -> str:
    if value is None:
        return f"# {name} ="
    if isinstance(value, SecretStr):
        return f'# {name} = "**********"' if value.get_secret_value() else f"# {name} ="
    if isinstance(value, tuple):
        return f"{name} = {json.dumps(list(value))}"
    return f"{name} = {json.dumps(str(value) if isinstance(value, Path) else value)}"
