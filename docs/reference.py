"""Writes the pages of the reference that say what the code says: `make docs`, or `python docs/reference.py`.

The pages are committed, so that they can be read without building anything; a test compares them with the code.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from prometheus_client.core import Metric
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

import interlock
from interlock import EchoPipeline, Host, WorkerSettings
from interlock.cli import whole_parser
from interlock.observe.exposition import Exposition
from interlock.observe.metrics import Metrics
from interlock.observe.story import Story
from interlock.serve.config import sections
from interlock.workers.scripted import ScriptedFleet

DOCS = Path(__file__).parent
MARK = "<!-- Written by `python docs/reference.py` from the code; never edited. -->\n\n"

LAYERS = {
    "runtime": "Hosts and sessions",
    "session": "Settings",
    "transport": "Connections and clients",
    "workers": "Pipelines and stages",
    "observe": "Traces",
    "machine": "Machines",
    "errors": "Errors",
}
"""The layers of the public names, in the order in which a reader meets them."""


# --------------------------------------------------------------------------------------------------------- commands


def cli() -> str:
    """Return the page of all commands and options."""
    parser = whole_parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {one.dest: one.help or "" for one in commands._choices_actions}
    lines = [
        "# Command line\n",
        f"`interlock COMMAND --help` says the same. {parser.epilog}\n",
        "| command | does |\n| --- | --- |",
        *(f"| [`interlock {name}`](#interlock-{name}) | {summaries[name]} |" for name in commands.choices),
        f"\n{listed(parser)}",
    ]
    for name, command in commands.choices.items():
        lines += [f"## interlock {name}\n", f"{described(command, summaries[name])}\n", listed(command)]
    return "\n".join(lines)


def described(command: argparse.ArgumentParser, summary: str) -> str:
    """Return what a command says of itself; examples stand in a fence, as they are laid out."""
    text = (command.description or summary).strip()
    said = f"```text\n{text}\n```" if "\n  " in text else f"{text[0].upper()}{text[1:]}".removesuffix(".") + "."
    return f"{said}\n\n{command.epilog}" if command.epilog else said


def listed(parser: argparse.ArgumentParser) -> str:
    """Return the options of a parser as a table."""
    rows = [f"| {names(action)} | {cell(explained(action))} |" for action in parser._actions if is_said(action)]
    return "\n".join(["| argument or option | |", "| --- | --- |", *rows, ""]) if rows else ""


def is_said(action: argparse.Action) -> bool:
    """Say whether an action is an option or argument that a reader should know of."""
    return (
        not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        and action.help is not argparse.SUPPRESS
    )


def names(action: argparse.Action) -> str:
    """Return how an option is written, with what it takes."""
    taken = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    value = "" if action.nargs == 0 else f" {taken}"
    spelled = [f"{name}{value}" for name in action.option_strings] or [str(taken)]
    return ", ".join(f"`{one}`" for one in spelled)


def explained(action: argparse.Action) -> str:
    """Return the help of an option, with what it names filled in."""
    return (action.help or "") % {"default": action.default, "const": action.const, "prog": "interlock"}


# --------------------------------------------------------------------------------------------------------- settings


def configuration() -> str:
    """Return the page of all settings."""
    told = {
        "": "Of the server, as `--port 9000`, `INTERLOCK_PORT=9000`, or `port = 9000` in the file.",
        "session": "Of a host and its sessions, also as `open_host(pipeline, fleet, Settings(grace_s=60))`.\n"
        "`host.limits()` and `/metrics` show what is used of each limit, and the most that ever was.",
    }
    lines = [
        "# Configuration\n",
        "Every limit and every duration. All are checked when they are set, alone and against each other; what is",
        "out of range is refused in a sentence that names it. Durations are seconds (`_s`), sizes `_bytes`.\n",
        "`interlock serve` reads the command line (`--set NAME=VALUE`), then the environment",
        "(`INTERLOCK_SESSION__GRACE_S=60`), then a file (`--config FILE`, TOML, a table for each section), then these",
        "defaults. `interlock serve --show-config` prints what it would run with, and where each value came from.\n",
    ]
    branches = sections()
    for name, model in branches.items():
        lines += [
            f"## {f'[{name}]' if name else 'The trunk'}\n",
            f"{told.get(name, summary(model))}\n",
            table(model, branches),
        ]
    return "\n".join([*lines, "## Of the workers\n", f"{WORKERS}\n", table(WorkerSettings, {})])


WORKERS = "In Python alone: `StageFleet(stages, WorkerSettings(heartbeat_s=2))`."


def summary(model: type[BaseModel]) -> str:
    """Return the first sentence of a model's docstring."""
    return (model.__doc__ or "").strip().partition("\n")[0]


def table(model: type[BaseModel], branches: Mapping[str, object]) -> str:
    """Return the settings of one model as a table; its branches have tables of their own."""
    fields = {name: info for name, info in model.model_fields.items() if name not in branches}
    rows = [
        f"| `{name}` | {default(info)} | {bounds(info)} | {cell(info.description or '')} |"
        for name, info in fields.items()
    ]
    return "\n".join(["| setting | default | may be | |", "| --- | ---: | --- | --- |", *rows, ""])


def default(info: FieldInfo) -> str:
    """Return what a setting is where nobody sets it."""
    value = info.default.get_secret_value() if isinstance(info.default, SecretStr) else info.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"{value:,}"
    return f"`{value}`" if value else ""


def bounds(info: FieldInfo) -> str:
    """Return what a setting may be, in words."""
    words = {"ge": "{} or more", "gt": "over {}", "le": "at most {}", "lt": "under {}"}
    told = [
        text.format(f"{limit:,}")
        for one in info.metadata
        for key, text in words.items()
        if (limit := getattr(one, key, None)) is not None
    ]
    choices = [f"`{one}`" for one in getattr(info.annotation, "__args__", ()) if isinstance(one, str)]
    return " or ".join(choices) or ", ".join(told)


# ---------------------------------------------------------------------------------------------------------- metrics


def metrics() -> str:
    """Return the page of everything that /metrics tells."""
    host = Host(EchoPipeline(), ScriptedFleet())
    families = Exposition(host, Metrics(), Story()).collect()
    rows = [f"| `{counted(one)}` | {one.type} | {labels(one)} | {one.documentation} |" for one in families]
    lines = [
        "# Metrics\n",
        "What `GET /metrics` of `interlock serve` tells, as Prometheus reads it. Gauges are read from the books when",
        "somebody asks; nothing has to be kept in step with them. No label has a session, a client or a key in it.\n",
        "| metric | type | labels | |\n| --- | --- | --- | --- |",
    ]
    return "\n".join([*lines, *rows])


def counted(family: Metric) -> str:
    """Return the name under which a metric is read."""
    return f"{family.name}_total" if family.type == "counter" else family.name


def labels(family: Metric) -> str:
    """Return the labels of a metric."""
    return ", ".join(f"`{label}`" for label in getattr(family, "_labelnames", ()))


# ------------------------------------------------------------------------------------------------------- public names


def api() -> str:
    """Return the page of the public names, as directives that the build fills in from docstrings."""
    told = [
        "# Python API\n",
        "What `import interlock` gives; the text is that of the docstrings, and is filled in when the pages are built.",
        "Importing the package loads nothing: each name is fetched from its module on first use.\n",
    ]
    for title, group in groupby(sorted(interlock._HOMES, key=place), key=lambda name: place(name)[1]):
        told += [f"## {title}\n", *map(directive, group)]
    return "\n".join([*told, *apart()])


def place(name: str) -> tuple[int, str, bool, str]:
    """Return where a name stands: by its layer, functions first."""
    layer = interlock._HOMES[name].split(".")[1]
    return [*LAYERS].index(layer), LAYERS[layer], name[0].isupper(), name


def directive(name: str, module: str = "interlock") -> str:
    """Return what puts the docstring of a public name into a page."""
    kind = "autoclass" if isinstance(getattr(importlib.import_module(module), name), type) else "autofunction"
    members = "   :members:\n" if kind == "autoclass" else ""
    return f"```{{eval-rst}}\n.. {kind}:: {module}.{name}\n{members}```\n"


APART = {
    "interlock.embed": "For an asyncio server; [how to use it](embed.md).",
    "interlock.proof": "The sweep, for anyone's trio code; [how to use it](sweep.md).",
}
"""Packages whose names are not those of `interlock`, since not everybody needs them."""


def apart() -> Iterator[str]:
    """Yield the sections of the packages that are imported by their own names."""
    for name, text in APART.items():
        yield f"## {name}\n\n{text}\n"
        yield from (directive(each, name) for each in sorted(importlib.import_module(name).__all__))


# -------------------------------------------------------------------------------------------------------------- pages


def cell(text: str) -> str:
    """Return text for one cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", r"\|").replace("<", "&lt;")


def pages() -> dict[str, str]:
    """Return every generated page by its name."""
    made = {"cli.md": cli, "configuration.md": configuration, "metrics.md": metrics, "api.md": api}
    return {name: MARK + make().rstrip() + "\n" for name, make in made.items()}


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text, "utf-8")
