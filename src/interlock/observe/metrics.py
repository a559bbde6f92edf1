"""The counters of a server, in plain numbers: a listener of the story, and a clock of dispatches.

They are added up on the loop's own thread and need no lock; :mod:`interlock.observe.exposition` turns them, and what
the host's books say at that moment, into what Prometheus reads. docs/operations.md says what to do when one moves.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Final

from interlock.observe.histogram import Histogram
from interlock.observe.story import OUTCOMES, WAYS, Told

DISPATCH_BOUNDS: Final = (10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 50e-3)
LANDING_BOUNDS: Final = (1e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What was counted since the process began."""

    def __init__(self) -> None:
        self.opened = 0
        self.claims: Counter[tuple[str, str]] = Counter(dict.fromkeys(product(WAYS, OUTCOMES), 0))
        self.refused: Counter[str] = Counter()
        self.detached = 0
        self.responses: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.quarantined = 0
        self.owed = 0
        self.attach = Histogram(LANDING_BOUNDS)
        self.landing = Histogram(LANDING_BOUNDS)
        self.dispatch = Histogram(DISPATCH_BOUNDS)

    def hear(self, told: Told) -> None:
        """Count one thing that happened."""
        match told.kind:
            case "opened":
                self.opened += 1
            case "claim_landed":
                self.claims[told.way, told.why] += 1
                self.attach.observe(told.took_s)
            case "resume_refused":
                self.refused[told.why] += 1
            case "detached":
                self.detached += 1
            case "cancel_landed":
                self.landing.observe(told.took_s)
            case "request_owed":
                self.owed += 1
            case "response_ended":
                self.responses[told.why] += 1
            case "quarantined":
                self.quarantined += 1
            case "ended":
                self.ended[told.why] += 1
            case "claimed" | "cancel_began" | "response_began":
                pass
