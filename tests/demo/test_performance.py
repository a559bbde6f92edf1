"""The scenario against a scripted server: everything of the demo but the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.demo import checks
from interlock.demo.performance import clear, gather, perform
from interlock.demo.recordings import Recording

SAID = [Recording(f"r{number}", f"sentence {number}", b"\1\2" * 8_000) for number in range(4)]
MODELS = {checks.replies_repeat_the_user, checks.barge_in_came_early, checks.loop_did_not_stall}
"""These need what the models say, or an idle machine."""


@pytest.mark.real_clock
@pytest.mark.slow
async def test_interrupted_torn_resumed_taken_over_and_closed(tmp_path: Path) -> None:
    lines: list[str] = []
    clear(tmp_path)
    done = await perform(tmp_path, SAID, lines.append, serve=["--scripted", "60"], commits=True)
    evidence = gather(tmp_path, SAID, done)
    wrong = [verdict for check in checks.CHECKS if check not in MODELS if not (verdict := check(evidence)).ok]
    assert wrong == []
    shown = "\n".join(lines)
    assert "ATTACHED -> DETACHED  (TransportLost)" in shown
    assert "client B  reads session.closed" in shown


def test_only_what_a_demo_wrote_is_removed(tmp_path: Path) -> None:
    (tmp_path / "reply-1.wav").write_text("old")
    (tmp_path / "thesis.txt").write_text("mine")
    clear(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.txt", "trace"]
