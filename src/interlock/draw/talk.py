"""How machines talk to each other, before anyone thinks of shapes: who sends what to whom, and what is left outside.

What a machine sends is what its rows emit: a message that another machine takes goes there, any other is an effect,
which the runtime performs. What comes from outside is what the file lists under an origin that is no machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from interlock.spec.plan import CANCELLED, Blueprint, Plan


class Part(NamedTuple):
    """One machine among the others: what it takes from each origin outside, and the effects that it orders."""

    name: str
    doc: str
    per: str | None
    takes: tuple[tuple[str, tuple[str, ...]], ...]
    effects: tuple[str, ...]


class Talk(NamedTuple):
    """All that one machine sends to another, or to itself."""

    sender: str
    receiver: str
    messages: tuple[str, ...]


def parts(blueprint: Blueprint) -> tuple[Part, ...]:
    """Return the machines by name, whichever order their files came in."""
    return tuple(_part(blueprint, plan) for plan in _plans(blueprint))


def talks(blueprint: Blueprint) -> tuple[Talk, ...]:
    """Return who sends what to whom, by name."""
    return tuple(talk for plan in _plans(blueprint) for talk in _talks(blueprint, plan))


def own(part: Part, said: Iterable[Talk]) -> tuple[str, ...]:
    """Return what a machine sends to itself."""
    return tuple(name for talk in said if talk.sender == talk.receiver == part.name for name in talk.messages)


def hears(part: Part, itself: tuple[str, ...]) -> list[str]:
    """Return in words what a machine takes that no arrow shows."""
    takes = [f"from {origin}: {', '.join(events)}" for origin, events in part.takes]
    return takes + ([f"from itself: {', '.join(itself)}"] if itself else [])


def orders(part: Part) -> list[str]:
    """Return in words what a machine orders of the runtime."""
    return [f"orders {', '.join(part.effects)}"] if part.effects else []


def downwards(said: Iterable[Talk]) -> tuple[str, ...]:
    """Return the machines so that most messages go to a later one: depth first from the first name on."""
    to: dict[str, list[str]] = {}
    for talk in said:
        to.setdefault(talk.sender, []).append(talk.receiver)
    seen: set[str] = set()
    done: list[str] = []
    for first in sorted(to):
        path = [] if first in seen else [(first, iter(to[first]))]
        seen.add(first)
        while path:
            receiver = next((one for one in path[-1][1] if one not in seen), None)
            if receiver is None:
                done.append(path.pop()[0])
            else:
                seen.add(receiver)
                path.append((receiver, iter(to.get(receiver, ()))))
    return tuple(reversed(done))


def _plans(blueprint: Blueprint) -> list[Plan]:
    return sorted(blueprint.plans, key=lambda plan: plan.name)


def _part(blueprint: Blueprint, plan: Plan) -> Part:
    outside = ((origin, events) for origin, events in plan.form.events.items() if origin not in blueprint.machines)
    takes = tuple((origin, tuple(event for event in events if event != CANCELLED)) for origin, events in outside)
    effects = sorted(name for name in _emits(plan) if _receiver(blueprint, name) == "")
    return Part(plan.name, plan.form.doc, plan.form.per, tuple(one for one in takes if one[1]), tuple(effects))


def _talks(blueprint: Blueprint, plan: Plan) -> Iterator[Talk]:
    said = sorted(_emits(plan))
    for receiver in sorted(blueprint.machines):
        if messages := tuple(name for name in said if _receiver(blueprint, name) == receiver):
            yield Talk(plan.name, receiver, messages)


def _emits(plan: Plan) -> set[str]:
    return {name for row in plan.rows for name in row.emit}


def _receiver(blueprint: Blueprint, name: str) -> str:
    declared = blueprint.messages.get(name)
    return declared.machine if declared is not None else ""
