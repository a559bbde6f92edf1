"""Open requests and abort them at random moments, and count the steps until each clean-up was confirmed."""

from __future__ import annotations

import random

from interlock.runtime.ports import Aborted, Failed, Refused
from interlock.workers.loop import StageLoop
from interlock.workers.protocol import Abort, Report, Submit
from interlock.workers.torch_stage.stage import TorchStage


def churn(
    loop: StageLoop, stage: TorchStage, said: list[Report], chance: random.Random, *, opens: int, capacity: int
) -> int:
    """Open so many requests and abort each sometime; return the most steps that a confirmation took.

    ``said`` is where the loop's reports go. Nothing is refused, and nothing fails.
    """
    opened, waiting, most = 0, dict[str, int](), 0
    while opened < opens or loop.known:
        if opened < opens and len(loop.known) < capacity and chance.random() < 0.6:
            params = {"text": "go " * chance.randint(1, 40), "max_tokens": 48}
            loop.take(Submit(f"{opens}.{opened}", 1, params), 0.0)
            opened += 1
        live = sorted(loop.known - waiting.keys())
        if live and (opened == opens or chance.random() < 0.5):
            waiting[victim := chance.choice(live)] = stage.steps
            loop.take(Abort([victim]), 0.0)
        if chance.random() < 0.7:
            loop.advance(0.0)
        for report in said:
            assert not isinstance(report, Failed | Refused), report
            if isinstance(report, Aborted):
                most = max(most, stage.steps - waiting.pop(report.request_id))
        said.clear()
    assert not waiting
    return most
