"""Sessions brought to where a test begins, by events alone."""

from __future__ import annotations

from interlock.machine import Message
from interlock.session.decide import decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import messages as m

STAGES = ("mind", "voice")
FIRST = b"token 1"


def after(value: Value, *events: Message) -> Value:
    """Return what ``value`` is after these events."""
    for event in events:
        value = decide(value, event).value
    return value


def attached(settings: Settings | None = None) -> Value:
    """Return a session whose first transport is attached; ``FIRST`` is its token."""
    value = new_value("sess_1", settings or Settings())
    return after(value, m.Prepared(1, FIRST), m.ActivationDelivered(1), m.ReplayDelivered(1))


def detached(settings: Settings | None = None) -> Value:
    """Return a session in grace."""
    return after(attached(settings), m.TransportLost(1, "reset"))


def asked(value: Value, number: int = 1) -> Value:
    """Return the session with a response asked for, and no worker yet: ``resp_1``."""
    return after(value, m.TurnHeard(f"resp_{number}", STAGES))


def answering(value: Value, number: int = 1) -> Value:
    """Return the session with both stages of a response running, in their first incarnation."""
    value = asked(value, number)
    for stage in STAGES:
        request_id = f"resp_{number}.{stage}"
        value = after(value, m.WorkerAssigned(request_id, 1), m.SubmitAccepted(request_id, 1))
    return value


def listening(value: Value) -> Value:
    """Return the session with its ears running: ``listen_1``."""
    asks = m.ListenRequested("listen_1", "ears")
    return after(value, asks, m.WorkerAssigned("listen_1", 1), m.SubmitAccepted("listen_1", 1))


def kinds(effects: tuple[Message, ...]) -> list[str]:
    """Return what the client will hear of these effects, in order."""
    return [effect.kind for effect in effects if isinstance(effect, m.AppendEvent)]
