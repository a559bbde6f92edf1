"""What a runtime records: a trace that replays, and metrics for whoever scrapes its server."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.cli import main as interlock
from interlock.embed import Runtime
from interlock.observe.exposition import Exposition
from interlock.observe.metrics import Metrics
from interlock.observe.story import Story
from interlock.observe.trace import Trace
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from tests.embed.scene import LOUD, Run, Wire, scripted

pipeline = EchoPipeline()


@pytest.mark.real_clock
def test_a_trace_is_written_by_the_runtime_and_replays(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with Runtime(pipeline, scripted(), record=Trace(tmp_path)) as runtime:
            await runtime.wait_ready(EARS, MIND, VOICE)
            session = await runtime.open(Wire())
            session.append(LOUD)
            session.commit()
            session.close()
            await session.wait_closed()

    run(main)
    assert interlock(["replay", str(tmp_path)]) == 0


@pytest.mark.real_clock
def test_metrics_are_read_from_the_runtime_s_host(run: Run) -> None:
    async def main() -> None:
        fleet = scripted()
        metrics = Metrics()
        story = Story(metrics.hear)
        runtime = Runtime(pipeline, fleet, record=story)
        exposition = Exposition(runtime.host, metrics, story)
        async with runtime:
            await runtime.wait_ready(EARS, MIND, VOICE)
            await runtime.open(Wire())
            told = exposition.text().decode()
        assert 'interlock_attachments{state="ATTACHED"} 1.0' in told
        assert 'interlock_attachments{state="DETACHED"} 0.0' in told
        assert metrics.opened == 1

    run(main)
