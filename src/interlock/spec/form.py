"""The shape of a machine file, as pydantic reads it: strict, and nothing that it does not know.

Only shape is decided here. Whether a name means something is for the checks, which see all machines at once.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

State: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]
"""Capitals: ``ROLLED_BACK``."""

Camel: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*$")]
"""A message or a work: ``TransportLost``, ``Deliver``."""

Snake: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
"""A guard, an assignment, a field, a setting, a machine, an origin: ``is_accepted``."""

Code: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
"""A wire code, as a client reads it: ``session_closed``."""

Kind: TypeAlias = str | list[str]
"""A type by name (``"int"``), or a list of words of which the value is one."""


class Form(BaseModel):
    """What all parts have in common: no coercion, no unknown key, no change after reading."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class RowForm(Form):
    """One row: where to, under which guard, and what it does. Without ``to`` the machine stays."""

    guard: Snake | None = None
    to: State | None = None
    assign: list[Snake] = []
    emit: list[Camel] = []
    rearm: dict[Camel, Snake] = {}
    refuse: Code | None = None


def _as_rows(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Rows: TypeAlias = Annotated[list[RowForm], BeforeValidator(_as_rows), Field(min_length=1)]
"""One row, or a list of rows of which the first whose guard holds is taken."""


class TimeoutForm(Form):
    """An event that comes ``after`` so long in the state."""

    after: Snake
    event: Camel


class StateForm(Form):
    """One state: what it takes, ignores, refuses, and where a cancel lands."""

    doc: str = ""
    ignore: list[Camel] = []
    refuse: dict[Camel, Code] = {}
    cancel: Rows | None = None
    shielded: str | None = None
    timeouts: list[TimeoutForm] = []
    on: dict[Camel, Rows] = {}


class MessageForm(Form):
    """One message: an event that this machine takes, or an effect that it leaves to the runtime."""

    doc: str
    fields: dict[Snake, Kind] = {}
    facts: dict[Snake, Kind] = {}
    within: Snake | None = None
    ends: Camel | None = None


class WorkForm(Form):
    """The one awaited thing of a span of states."""

    doc: str = ""
    start: State = Field(alias="from")
    through: list[State] = []


class BirthForm(Form):
    """What the birth of an instance emits."""

    emit: list[Camel] = []


class MachineForm(Form):
    """A whole file."""

    machine: Snake
    doc: str
    initial: State
    final: list[State] = Field(min_length=1)
    owner: Snake | None = None
    per: Snake | None = None
    created_by: Camel | None = None
    limit: Snake | None = None
    stamps: list[Snake] = []
    settings: list[Snake] = []
    effects: list[Camel] = []
    birth: BirthForm = BirthForm()
    events: dict[Snake, list[Camel]]
    message: dict[Camel, MessageForm] = {}
    work: dict[Camel, WorkForm] = {}
    state: dict[State, StateForm] = Field(min_length=1)
