"""The engine: tables, messages, the pure step, and the run to completion over machines that talk to each other."""

from interlock.machine.bind import Cell, Machine, Step, bound_names, delay_names
from interlock.machine.cascade import Cascade, Cells, Composition, Taken, address_of, is_stale
from interlock.machine.message import (
    Address,
    ArmTimer,
    Cancelled,
    DisarmTimer,
    Key,
    Message,
    StartWork,
    StopWork,
)
from interlock.machine.table import Kind, Row, StateInfo, Table, Timeout, Work

__all__ = [
    "Address",
    "ArmTimer",
    "Cancelled",
    "Cascade",
    "Cell",
    "Cells",
    "Composition",
    "DisarmTimer",
    "Key",
    "Kind",
    "Machine",
    "Message",
    "Row",
    "StartWork",
    "StateInfo",
    "Step",
    "StopWork",
    "Table",
    "Taken",
    "Timeout",
    "Work",
    "address_of",
    "bound_names",
    "delay_names",
    "is_stale",
]
