"""Between the session and its world: what each tells the other, under whose name.

From the world to the session, a message keeps its name, and gets what the runtime adds: a reason, a fresh token, bytes.
From the session to the world, an effect becomes what its receiver sees of it. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from interlock.machine import Cancelled, Message, StartWork
from interlock.proof.explore.machines import Loaded
from interlock.proof.world.place import World
from interlock.session import books
from interlock.session.value import Value
from interlock.tables import messages as m

ADDED: dict[str, dict[str, Any]] = {
    "TransportLost": {"reason": "reset"},
    "SubmitRefused": {"reason": "full"},
    "RequestFailed": {"reason": "failed"},
    "AbortFailed": {"reason": "stuck"},
    "RequestLost": {"reason": "worker_lost"},
    "RequestGone": {"reason": "worker_gone"},
    "InterruptRequested": {"reason": "client_cancelled"},
    "CloseRequested": {"reason": "client_close"},
    "PrepareFailed": {"code": "pipeline_failed"},
}
"""What the runtime knows of an event and the adversary does not say."""

OPEN_CLAIM = 1


def to_session(world: World, effect: Any) -> Message | None:
    """Return the event of the session that an effect of the world is; none when there is nobody to tell."""
    name = type(effect).__name__
    if name == "LandCancel":
        return _landing(world.value, effect.claim)
    if name == "CancelWatch":
        return Cancelled("request", effect.request_id, effect.incarnation)
    kind: type[Message] = getattr(m, name, None) or getattr(books, name)
    said = {field.name: getattr(effect, field.name) for field in fields(effect)}
    if name in ("ResumeRequested", "Prepared"):
        said["fresh"] = fresh_of(world.value)
        said.setdefault("claim", OPEN_CLAIM)
    if name == "ResumeRequested":
        said["token"] = said["token"].encode()
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: value for key, value in said.items() if key in known}, **ADDED.get(name, {}))


def fresh_of(value: Value) -> bytes:
    """Return the token that the next claim is given."""
    return f"T{value.generation}".encode()


def _landing(value: Value, claim: int) -> Message | None:
    """Land a cancel as the driver does: on the preparation, or on the claim if it is still the newest."""
    if value.state("session") == "OPENING":
        return Cancelled("session")
    if value.cells["attachment", None].data.claim == claim:
        return Cancelled("attachment", None, value.generation)
    return None


def to_world(loaded: Loaded, world: World, effect: Any) -> Iterator[Message]:
    """Yield what the world sees of an effect of the session; ``world`` is as it is after the commit."""
    w = loaded.messages
    match effect:
        case StartWork(target="attachment"):
            yield _opened(w, world)
        case StartWork(target="request", work="Serve"):
            yield w.SubmitOrdered(str(effect.instance), *_worker(world, str(effect.instance)))
        case StartWork(target="request"):
            yield w.AbortOrdered(str(effect.instance), *_worker(world, str(effect.instance)))
        case m.SeekWorker():
            yield w.RequestSought(effect.request_id, effect.stage)
        case m.ForgetRequest():
            yield w.RequestForgotten(effect.request_id)
        case m.EvictTransport() | m.DropTransport():
            yield w.LinkRetired(effect.generation)
        case m.FinishTransport():
            yield w.LinkFinishing(effect.generation)
        case m.ConfirmClaim():
            yield w.CallConfirmed(effect.claim)
        case m.FailClaim():
            yield w.CallFailed(effect.claim)
        case m.ConfirmPrepared():
            yield w.CallFailed(OPEN_CLAIM)
        case m.RefuseResume():
            yield from _refused(w, world, effect)
        case _:
            return


def _opened(w: Any, world: World) -> Message:
    value = world.value
    caller = world.data("caller", value.cells["attachment", None].data.claim)
    client, position = (caller.client, caller.position) if caller is not None else (0, 0)
    opened: Message = w.LinkOpened(value.generation, client, value.credential.current.decode(), position)
    return opened


def _refused(w: Any, world: World, effect: m.RefuseResume) -> Iterator[Message]:
    caller = world.data("caller", effect.claim)
    yield w.CallFailed(effect.claim)
    if effect.code == "journal_gap" and caller is not None:
        yield w.ResyncTold(caller.client, effect.resumable_from)


def _worker(world: World, request_id: str) -> tuple[str, int]:
    """Say what the worker that a request is bound to is doing, as the runtime's fleet would."""
    data = world.value.cells["request", request_id].data
    process = world.cells.get(("process", data.stage))
    if process is None or process.data.incarnation != data.incarnation or process.state not in ("UP", "SILENT"):
        return "gone", data.incarnation
    return ("up" if process.state == "UP" else "silent"), data.incarnation
