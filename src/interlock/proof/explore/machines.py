"""Machine files made ready to be explored, in memory: no generated module, and no builder that only copies fields.

``interlock tables`` makes typed modules for what runs in production. What an exploration needs is less: the messages,
the tables, and a function for each name that does more than pass fields on.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, make_dataclass
from types import ModuleType
from typing import Any, NamedTuple

from interlock.errors import MachineError
from interlock.machine import Machine, Message, Table, bound_names
from interlock.spec.build import built
from interlock.spec.check import checked
from interlock.spec.plan import Blueprint
from interlock.spec.write_messages import messages_text

_NUMBERS = itertools.count(1)

Names = Mapping[str, Callable[..., Any]]


class Loaded(NamedTuple):
    """Checked machine files: what they say, their message types (a module), and their tables by machine."""

    blueprint: Blueprint
    messages: Any
    tables: dict[str, Table]

    def machine(self, name: str, names: Names, create: Callable[[Any], Any]) -> Machine[Any]:
        """Bind one machine. A guard, an assignment and a delay must be in ``names``; an emit may be left out.

        An emit that is left out builds the message of its name from the same-named fields of the event and, for
        those that it lacks, of the data.
        """
        return bind(self.tables[name], names, create, self.messages)


def load(paths: Iterable[str]) -> Loaded:
    """Read, check and build machine files. Raises :class:`MachineError` for what ``interlock check`` would find."""
    blueprint = checked(paths)
    messages = _module(messages_text(blueprint, "from __future__ import annotations\n"))
    return Loaded(blueprint, messages, built(blueprint, messages))


def bind(table: Table, names: Names, create: Callable[[Any], Any], messages: Any) -> Machine[Any]:
    """Bind a table to those of ``names`` that it uses, and to plain builders where an emit has no function."""
    emits = {name for row in table.rows for name in row.emit}
    bound: dict[str, Callable[..., Any]] = {}
    for name in bound_names(table):
        if name in names:
            bound[name] = names[name]
        elif name in emits:
            bound[name] = builder(getattr(messages, name))
        else:
            raise MachineError(f"{table.name}: nothing is bound to {name}")
    shape = make_dataclass("Bindings", list(bound), frozen=True)
    return Machine(table, shape(**bound), create)


def builder(kind: type[Message]) -> Callable[[Any, Message], tuple[Message, ...]]:
    """Return a builder that copies the fields of ``kind`` from the event, or else from the data."""
    wanted = [field.name for field in fields(kind) if field.name not in kind.facts]  # type: ignore[arg-type]

    def build(data: Any, event: Message) -> tuple[Message, ...]:
        return (kind(**{name: _found(name, event, data) for name in wanted}),)

    return build


def _found(name: str, event: Message, data: Any) -> Any:
    for source in (event, data):
        if hasattr(source, name):
            return getattr(source, name)
    raise MachineError(f"{type(event).__name__} has no {name}, and neither has {type(data).__name__}: bind a builder")


def _module(text: str) -> ModuleType:
    """Execute a generated text. Dataclasses look their module up, so it gets a name that nobody else has."""
    name = f"interlock_explored_{next(_NUMBERS)}"
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module
