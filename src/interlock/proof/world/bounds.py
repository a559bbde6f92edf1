"""The bounds of a world, and the worlds that are explored by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlock.session.settings import Settings


class Bounds(NamedTuple):
    """How large a world may grow. Bounds are on what is there at the same time: runs may go on for ever.

    ``generations`` is how many transports may be referred to at once (attached, closing, or still on the client's
    side), ``epochs`` how many fences, ``requests`` how many stage requests are on the books.
    """

    clients: int = 1
    generations: int = 2
    epochs: int = 2
    requests: int = 0
    stages: tuple[str, ...] = ()
    """The chain of stages of an answer; empty for a world without answers."""
    listens: bool = False
    """Whether a stage listens, beside what answers."""
    positions: bool = True
    """Whether positions in the journal are told apart; else a client has everything, always."""
    remembers: bool = False
    """Whether the answer that ended last can still be named."""
    reasons: tuple[str, ...] = ("server_shutdown",)
    """What the host may end the session for, at any moment."""
    without: frozenset[str] = frozenset()
    """Moves that the adversary does not make in this world."""
    embedded: bool = False
    """Whether whoever embeds the host closes, interrupts and asks for another idle time, at any moment."""
    prepared: bool = False
    """Begin when the pipeline has accepted the session, and its credentials are on their way."""
    attached: bool = False
    """Begin with a client that is attached, and not with the opening."""

    @property
    def told(self) -> dict[str, object]:
        """What a report says of them."""
        said: dict[str, Any] = self._asdict()
        said["without"] = sorted(self.without)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}

    @property
    def all_stages(self) -> tuple[str, ...]:
        """Every stage that there is: those that answer, and the one that listens."""
        return (*self.stages, *(("ears",) if self.listens else ()))

    @property
    def settings(self) -> Settings:
        """The session's settings that go with them."""
        return Settings(
            max_requests=max(2, self.requests),
            max_responses=max(1, self.requests),
            max_fences=max(2, self.epochs),
            max_retries=1,
            max_evicting=max(1, self.generations - 2),
            max_playback=1,
        )


STILL = frozenset({"Dialled", "TokenShared", "HungUp", "LinkBroke", "CallerCancelled", "ClientLeft", "AckSent"})
"""What does not happen where only stages are looked at: the client is attached and stays."""

SOUND = frozenset(
    {
        "WorkFailed",
        "WorkForgotten",
        "AbortBotched",
        "Disowned",
        "WatchCancelled",
        "OutputMade",
        "Vanished",
        "OrderRefused",
    }
)
"""What does not happen where stages are only slow."""

WORLDS: dict[str, Bounds] = {
    "opening": Bounds(
        clients=1, generations=2, requests=1, stages=("mind",), embedded=True, positions=False,
        without=(STILL - {"LinkBroke", "CallerCancelled"}) | (SOUND - {"WorkFailed"}),
    ),
    "claim": Bounds(clients=1, generations=2, embedded=True),
    "claims": Bounds(clients=2, generations=3, positions=False),
    "answer": Bounds(
        requests=2, stages=("mind", "voice"), positions=False, remembers=True, without=STILL, attached=True
    ),
    "overlap": Bounds(epochs=3, requests=2, stages=("mind",), positions=False, without=STILL | SOUND, attached=True),
    "chain": Bounds(
        requests=3, stages=("mind", "voice", "face"), positions=False, attached=True,
        without=STILL | SOUND | {"WentSilent", "Died", "WorkFailed"},
    ),
    "listening": Bounds(
        requests=2, stages=("mind",), listens=True, positions=False, attached=True,
        without=STILL | {"WatchCancelled", "OutputMade", "WorkForgotten", "Vanished"},
    ),
}  # fmt: skip
"""Small enough for the plain engine, and together they take every row."""

PARTED = frozenset({"ClientLeft", "AnswerCancelled"})
"""What does not happen where the fast engine works: it keeps the number of clients, and knows no answer by its name."""

LARGE: dict[str, Bounds] = {
    "pair": Bounds(clients=2, generations=2, positions=False, prepared=True, without=PARTED),
    "meeting": Bounds(
        clients=1, generations=2, requests=1, stages=("mind",), positions=False, prepared=True,
        without=PARTED | SOUND | {"CallerCancelled", "HungUp", "WentSilent", "Died"},
    ),
    "crowd": Bounds(clients=6, generations=3, positions=False, prepared=True, without=PARTED),
    "whole": Bounds(
        clients=2, generations=3, epochs=2, requests=2, stages=("mind",), positions=False, prepared=True,
        without=PARTED | {"Disowned", "WatchCancelled", "Vanished", "OutputMade"},
    ),
}  # fmt: skip
"""For the fast engine: two that the plain one can follow, one of many clients, and one of everything at once."""
