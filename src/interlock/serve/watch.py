"""What a server keeps of itself while it runs: its trace, metrics, log lines, and spans where somebody wants them."""

from __future__ import annotations

import trio

from interlock.observe import log
from interlock.observe.exposition import Exposition
from interlock.observe.metrics import Metrics
from interlock.observe.several import Several
from interlock.observe.spans import spans_if_there
from interlock.observe.stall import Stall
from interlock.observe.story import Story
from interlock.observe.trace import Trace
from interlock.runtime.host import Host
from interlock.runtime.ports import Recorder
from interlock.serve.config import Config


class Watch:
    """The recorders of one host. ``stall`` is there where GET /debug/books is."""

    def __init__(self, served: Config) -> None:
        self.trace = Trace(served.trace) if served.trace is not None else None
        self.stall = Stall() if served.debug else None
        self.metrics = Metrics()
        spans = spans_if_there()
        self.story = Story(self.metrics.hear, log.write, *([spans] if spans is not None else []))

    @property
    def record(self) -> Recorder:
        """What the host is given."""
        return self.story if self.trace is None else Several(self.trace, self.story)

    def of(self, host: Host) -> Exposition:
        """Measure the dispatches of a host, and return its metrics."""
        host.timed = self.metrics.dispatch.observe
        return Exposition(host, self.metrics, self.story)

    def start(self, nursery: trio.Nursery) -> None:
        """Start what has a task."""
        if self.trace is not None:
            nursery.start_soon(self.trace.run)
        if self.stall is not None:
            nursery.start_soon(self.stall.run)

    def close(self) -> None:
        """Finish the trace."""
        if self.trace is not None:
            self.trace.close()
