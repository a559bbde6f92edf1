"""The lease machine's data and bindings: one clock while somebody is attached, another while nobody is."""

from __future__ import annotations

import math
from typing import NamedTuple

from interlock.machine import Machine, Message
from interlock.tables import lease as table
from interlock.tables import messages as m


class Lease(NamedTuple):
    """Seconds; an infinite ``idle_s`` switches idle expiry off."""

    idle_s: float = 300.0
    grace_s: float = 30.0


SLACK_S = 1e-6
"""Clock readings are floats: within a microsecond of the deadline, it has passed."""


def is_idle(data: Lease, event: m.IdleDue) -> bool:
    """Whether nothing happened for the whole idle time, and nothing is being said."""
    return not event.busy and event.idle_for_s >= data.idle_s - SLACK_S


def idle_left_s(data: Lease, event: Message) -> float:
    """What is left of the idle time; a busy session is asked again after a whole one."""
    if isinstance(event, m.IdleDue) and not event.busy:
        return data.idle_s - event.idle_for_s
    return data.idle_s


def set_idle(data: Lease, event: m.IdleRequested) -> Lease:
    """Take over the idle time that the client asks for."""
    return data._replace(idle_s=event.idle_s)


def lease_expired(_: Lease, event: m.IdleDue | m.GraceExpired) -> tuple[m.LeaseExpired, ...]:
    """Tell the session which clock ran out (the reasons of ``session.expired`` in docs/wire.md)."""
    return (m.LeaseExpired("idle_ttl_expired" if isinstance(event, m.IdleDue) else "disconnect_grace_expired"),)


def _create(settings: tuple[float | None, float]) -> Lease:
    idle_s, grace_s = settings
    return Lease(math.inf if idle_s is None else idle_s, grace_s)


MACHINE: Machine[Lease] = Machine(
    table.TABLE,
    table.Bindings[Lease](
        is_idle=is_idle,
        idle_s=lambda data, _: data.idle_s,
        idle_left_s=idle_left_s,
        set_idle=set_idle,
        grace_s=lambda data, _: data.grace_s,
        LeaseExpired=lease_expired,
    ),
    create=_create,
)
