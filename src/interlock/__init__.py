"""Interlock runs long-lived, full-duplex inference sessions that cannot be left in an illegal state.

Importing this package loads nothing but itself: each public name is fetched from its module on first use,
so that a client of the tables does not pay for trio, and a client of the runtime does not pay for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.errors import ClientError, Defect, InterlockError, LimitReached, MachineError, WorldError
    from interlock.machine import Cancelled, Cell, Composition, Machine, Message, Row, StateInfo, Step, Table
    from interlock.observe.trace import Trace
    from interlock.runtime.acts import ClaimLost, ResyncRequired
    from interlock.runtime.host import Host, open_host
    from interlock.runtime.ports import Fleet, Pipeline, Recorder, StageLink, Transport, TransportClosed
    from interlock.runtime.talk import Session
    from interlock.session.settings import Settings
    from interlock.transport.client import Client, Credentials, open_client
    from interlock.transport.converse import converse
    from interlock.transport.endpoint import serve_websockets
    from interlock.workers.core import StageSpec, WorkerSettings
    from interlock.workers.echo import EchoPipeline, echo_stages
    from interlock.workers.fleet import StageFleet
    from interlock.workers.stage import StageModel, StageOutput, StageRequest

__version__ = "0.1.0"

__all__ = [
    "Cancelled",
    "Cell",
    "ClaimLost",
    "Client",
    "ClientError",
    "Composition",
    "Credentials",
    "Defect",
    "EchoPipeline",
    "Fleet",
    "Host",
    "InterlockError",
    "LimitReached",
    "Machine",
    "MachineError",
    "Message",
    "Pipeline",
    "Recorder",
    "ResyncRequired",
    "Row",
    "Session",
    "Settings",
    "StageFleet",
    "StageLink",
    "StageModel",
    "StageOutput",
    "StageRequest",
    "StageSpec",
    "StateInfo",
    "Step",
    "Table",
    "Trace",
    "Transport",
    "TransportClosed",
    "WorkerSettings",
    "WorldError",
    "converse",
    "echo_stages",
    "open_client",
    "open_host",
    "serve_websockets",
    "__version__",
]

_HOMES = {
    "Cancelled": "interlock.machine",
    "Cell": "interlock.machine",
    "ClaimLost": "interlock.runtime.acts",
    "Client": "interlock.transport.client",
    "ClientError": "interlock.errors",
    "Composition": "interlock.machine",
    "Credentials": "interlock.transport.client",
    "Defect": "interlock.errors",
    "EchoPipeline": "interlock.workers.echo",
    "Fleet": "interlock.runtime.ports",
    "Host": "interlock.runtime.host",
    "InterlockError": "interlock.errors",
    "LimitReached": "interlock.errors",
    "Machine": "interlock.machine",
    "MachineError": "interlock.errors",
    "Message": "interlock.machine",
    "Pipeline": "interlock.runtime.ports",
    "Recorder": "interlock.runtime.ports",
    "ResyncRequired": "interlock.runtime.acts",
    "Row": "interlock.machine",
    "Session": "interlock.runtime.talk",
    "Settings": "interlock.session.settings",
    "StageFleet": "interlock.workers.fleet",
    "StageLink": "interlock.runtime.ports",
    "StageModel": "interlock.workers.stage",
    "StageOutput": "interlock.workers.stage",
    "StageRequest": "interlock.workers.stage",
    "StageSpec": "interlock.workers.core",
    "StateInfo": "interlock.machine",
    "Step": "interlock.machine",
    "Table": "interlock.machine",
    "Trace": "interlock.observe.trace",
    "Transport": "interlock.runtime.ports",
    "TransportClosed": "interlock.runtime.ports",
    "WorkerSettings": "interlock.workers.core",
    "WorldError": "interlock.errors",
    "converse": "interlock.transport.converse",
    "echo_stages": "interlock.workers.echo",
    "open_client": "interlock.transport.client",
    "open_host": "interlock.runtime.host",
    "serve_websockets": "interlock.transport.endpoint",
}


if not TYPE_CHECKING:  # else a type checker would believe in every name

    def __getattr__(name: str) -> object:
        """Fetch a public name from the module that defines it, once."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            value: object = getattr(importlib.import_module(home), name)
        except ModuleNotFoundError as absent:
            if (absent.name or "").partition(".")[0] == __name__:
                raise
            remedy = f"interlock.{name} needs {absent.name}, of an extra: pip install 'interlock[serve]'"
            raise ModuleNotFoundError(remedy, name=absent.name) from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, fetched or not."""
    return sorted({*globals(), *_HOMES})
