"""How far a long command is: nothing for what is quickly over, one moving line on a terminal, few lines elsewhere."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from interlock.proof.telling import Telling


class Terminal(StringIO):
    """Text that is shown on a screen."""

    def isatty(self) -> bool:
        """Say that it is."""
        return True


def told(*seconds: float) -> None:
    """Say something each time, and leave."""
    telling = Telling()
    for now in seconds:
        telling.say(now, lambda now=now: f"after {now} s")  # type: ignore[misc]
    telling.done()


def test_what_is_over_within_two_seconds_is_not_talked_about(capsys: pytest.CaptureFixture[str]) -> None:
    told(0.1, 1.0, 1.9)
    assert capsys.readouterr().err == ""


def test_elsewhere_a_line_comes_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    told(2.0, 2.5, 11.9, 12.0, 13.0)
    assert capsys.readouterr().err == "after 2.0 s\nafter 12.0 s\n"


def test_on_a_terminal_one_line_moves_and_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    told(2.0, 2.1, 2.5)
    assert screen.getvalue() == "\r\x1b[Kafter 2.0 s\r\x1b[Kafter 2.5 s\r\x1b[K"
