"""Who told whom: the letters of one move, for a sequence chart."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from interlock.machine import Cancelled, Cascade, Message
from interlock.proof.explore.model import Letter
from interlock.proof.world.place import World
from interlock.session.decide import Decision
from interlock.session.value import Value

SESSION = "session"


class Talk:
    """Collects letters in order."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.heard: set[int] = set()
        """Messages of the session to the world that have their letter."""

    def world(self, cascade: Cascade) -> None:
        """Note what happens in the world and tells the session nothing."""
        first = cascade.taken[0]
        where = place_of(first.address[0], first.message, first.address[1])
        if not cascade.effects and id(first.message) not in self.heard:
            self.letters.append(Letter(where, where, text_of(first.message)))

    def says(self, world: World, effect: Message, said: Message) -> None:
        """Note what the world tells the session."""
        self.letters.append(Letter(sender_of(world, effect), SESSION, text_of(said)))

    def told(self, world: World, effect: Message, told: Any) -> None:
        """Note what the session's effect means to the world."""
        kind = type(told)
        self.heard.add(id(told))
        key = getattr(told, kind.key) if kind.key else None
        self.letters.append(Letter(SESSION, place_of(kind.machine, told, key, world), text_of(told)))

    def refused(self, event: Message, code: str) -> None:
        """Note a refusal."""
        self.letters.append(Letter(SESSION, SESSION, f"refuses {type(event).__name__}: {code}"))

    def decided(self, before: Value, event: Message, decision: Decision) -> None:
        """Note an event that nobody sent, and how the session's machines moved."""
        last = self.letters[-1] if self.letters else Letter("", "", "")
        if last.receiver != SESSION or not last.text.startswith(_name(event)):
            self.letters.append(Letter(SESSION, SESSION, text_of(event)))
        for taken in decision.taken:
            if taken.row is not None and taken.state != taken.to:
                name, key = taken.address
                moved = f"{name}{'' if key is None else f' {key}'}: {taken.state or '(new)'} -> {taken.to}"
                self.letters.append(Letter(SESSION, SESSION, moved))


def text_of(message: Message) -> str:
    """Return a message on one line: its name, and its fields without what the chart shows anyway."""
    if isinstance(message, Cancelled):
        return f"Cancelled({message.target})"
    shown = []
    for field in fields(message):  # type: ignore[arg-type]
        value = getattr(message, field.name)
        if field.name in HIDDEN or field.name in message.facts or value in ("", ()):
            continue
        shown.append(f"{field.name}={value.decode() if isinstance(value, bytes) else value}")
    return f"{_name(message)}({', '.join(shown)})" if shown else _name(message)


HIDDEN = frozenset({"fresh", "client", "incarnation", "idle_for_s", "ms"})


def _name(message: Message) -> str:
    return type(message).__name__


def sender_of(world: World, effect: Any) -> str:
    """Return the lifeline that an effect of the world comes from."""
    name = type(effect).__name__
    if name == "LandCancel":
        return "caller"
    if name in ("ActivationDelivered", "ReplayDelivered", "TransportLost", "Handed", "TransportClosed"):
        return "link"
    if name == "ResumeRequested":
        caller = world.data("caller", effect.claim)
        return f"client {caller.client}" if caller is not None else "caller"
    if name == "Acknowledged":
        link = world.data("link", effect.generation)
        return f"client {link.client}" if link is not None else "link"
    if name in ("InterruptRequested", "CloseRequested"):
        return f"client {effect.client}"
    if name == "CancelRequested":
        return "link"
    if name in ("StageLost", "StageGone"):
        return str(effect.stage)
    stage = world.data("stage", getattr(effect, "request_id", ""))
    return stage.stage if stage is not None else SESSION


def place_of(machine: str, message: Any, key: Any, world: World | None = None) -> str:
    """Return the lifeline of one instance of the adversary's machines."""
    if machine == "client":
        return f"client {key}"
    if machine == "process":
        return str(key)
    if machine == "stage":
        stage = world.data("stage", key) if world is not None else None
        found = getattr(message, "stage", None) or (stage.stage if stage is not None else None)
        return str(found or SESSION)
    return {"link": "link", "caller": "caller"}.get(machine, SESSION)
