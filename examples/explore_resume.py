"""Two sets of resume rules, explored side by side: the prior art's of September 2026, and Interlock's.

    interlock explore examples/explore_resume.py:THEIRS     # exit code 1, and three charts
    interlock explore examples/explore_resume.py:OURS       # exit code 0

THEIRS is our reading of vLLM-Omni's duplex attachment registry, in four stored public versions of September 2026,
written as machines; what it shows was then observed on that code (docs/proofs.md says what, and in which versions). It
is a study of rules that have since moved on, not a judgement of a project that Interlock owes its questions to.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from interlock.machine import Cancelled, Cells, Message
from interlock.proof.explore.composed import System, born
from interlock.proof.explore.machines import load
from interlock.proof.explore.model import Property
from interlock.proof.world.bounds import WORLDS
from interlock.proof.world.model import SessionWorld

HERE = Path(__file__).parent
FRESH = 9
"""A token that nobody has seen; renamed as soon as it is the current one."""

DEAD = 8
"""A token that was good once, for a client that knows no other."""


class Registry(NamedTuple):
    """Tokens by number, 0 for none; whether the grace task runs, and whether a send holds the outbound lock."""

    current: int = 1
    presented: int = 0
    recovery: int = 0
    grace: bool = False
    locked: bool = False


def registry(loaded: Any) -> Any:
    """Bind the rules."""
    return loaded.machine(
        "registry",
        {
            "is_known": lambda data, event: event.token in (data.current, data.recovery),
            "is_known_and_locked": lambda data, event: event.token in (data.current, data.recovery) and data.locked,
            "present": lambda data, event: data._replace(presented=event.token),
            "rotate": lambda data, _: data._replace(current=FRESH, recovery=0),
            "restore": lambda data, _: data._replace(recovery=data.presented, presented=0),
            "complete": lambda data, _: data._replace(recovery=0, presented=0),
            "lock": lambda data, _: data._replace(locked=True),
            "unlock": lambda data, _: data._replace(locked=False),
            "start_grace": lambda data, _: data._replace(grace=True),
            "stop_grace": lambda data, _: data._replace(grace=False),
            "FrameSent": lambda data, _: (loaded.messages.FrameSent(data.current),),
        },
        create=lambda _: Registry(),
    )


def theirs() -> System:
    """Compose the registry, one client, and the line between them."""
    loaded = load([str(HERE / "explore_resume")])
    m = loaded.messages
    peer = loaded.machine(
        "peer", {"learn": lambda known, event: known | {event.token}}, create=lambda _: frozenset({1})
    )
    carry = {"carry": lambda _, event: event.token, "TokenRead": lambda carried, _: (m.TokenRead(carried),)}
    line = loaded.machine("line", carry, create=lambda _: 0)
    rules = registry(loaded)

    def happens(cells: Cells) -> Iterator[Message]:
        """The client resumes whenever it likes; sends hang, frames are lost, callers are cancelled."""
        found, data = cells["registry", None]
        if found != "CLOSED":
            yield from (m.ResumeAsked(token, FRESH) for token in sorted(cells["peer", None].data) or (DEAD,))
        if found == "ATTACHED":
            yield m.SendReturned() if data.locked else m.SendHung()
        if found == "WAITING":
            yield m.SendReturned()
        if found in ("ATTACHED", "WAITING"):
            yield m.TransportLost()
        if found in ("WAITING", "ACTIVATING", "REPLAYING"):
            yield Cancelled("registry")
        if found == "ACTIVATING":
            yield m.ActivationSent()
        if found == "REPLAYING":
            yield m.ReplaySent()
        if found == "DETACHED" and data.grace:
            yield m.GraceOver()
        if cells["line", None].state == "CARRYING":
            yield from (m.FrameArrived(), m.FrameLost())

    return System(
        name="the prior art's resume rules",
        machines=(rules, peer, line),
        cells=dict([born(peer, None), born(line, None), born(rules, None)]),
        happens=happens,
        always={
            "not locked out": ("While nothing is under way, the client knows a token that is accepted.", _has_a_key),
            "a grace runs": ("While nothing is attached, a grace clock runs.", _has_a_clock),
        },
        goals={
            "waits": lambda cells: cells["registry", None].state == "WAITING",
            "goes on": lambda cells: cells["registry", None].state != "WAITING",
        },
        about_runs=(
            Property(
                "takeover goes on",
                "A takeover does not wait for ever for the transport that it replaces.",
                "leads to",
                goal="goes on",
                after="waits",
            ),
        ),
        rename=renamed,
        fairness={"ActivationSent": "a send on the new transport returns", "ReplaySent": "and so does its replay"},
        bounds={"clients": 1, "resumes": "any number: tokens are told apart by what they open"},
        dead=dict.fromkeys(UNUSED, "the exploration ends with the session"),
    )


def _has_a_key(cells: Cells) -> bool:
    found, data = cells["registry", None]
    under_way = found not in ("ATTACHED", "DETACHED") or cells["line", None].state == "CARRYING"
    return under_way or bool(cells["peer", None].data & {data.current, data.recovery})


def _has_a_clock(cells: Cells) -> bool:
    found, data = cells["registry", None]
    return found != "DETACHED" or data.grace


def renamed(cells: Cells) -> Cells:
    """Name tokens by what they are: 1 the current one, 2 the one presented, 3 the one put back; forget the others."""
    data = cells["registry", None].data
    names = {0: 0, data.recovery: 3, data.presented: 2, data.current: 1} | {0: 0}
    held = data._replace(current=1, presented=names[data.presented], recovery=names[data.recovery])
    carried = cells["line", None]
    return {
        ("peer", None): cells["peer", None]._replace(
            data=frozenset(names[token] for token in cells["peer", None].data if names.get(token))
        ),
        ("line", None): carried._replace(data=names.get(carried.data, 0) if carried.state == "CARRYING" else 0),
        ("registry", None): cells["registry", None]._replace(data=held),
    }


UNUSED = [("peer", "KNOWING", "PeerLeft"), ("line", "EMPTY", "LineCut")]

THEIRS = theirs()
OURS = SessionWorld("claim", WORLDS["claim"], str(HERE.parent / "machines" / "world"))
