"""Models are loaded once for all speech tests; a request is what must not leak from one test into the next.

Without the extra `speech` no file of this folder is collected, and the summary says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interlock.workers.speech.ears import Ears
    from interlock.workers.speech.vad import SileroVad
    from interlock.workers.speech.voice import Voice

MISSING = [name for name in ("hibari", "numpy", "pocketsphinx", "silero_vad", "soxr", "torch") if not find_spec(name)]

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(f"SKIPPED tests/workers/speech: no {', '.join(MISSING)}; install interlock[speech]")


@pytest.fixture(scope="session")
def loaded_ears() -> Ears:
    from interlock.workers.speech.ears import Ears

    return Ears()


@pytest.fixture(scope="session")
def loaded_voice() -> Voice:
    from interlock.workers.speech.voice import Voice

    return Voice()


@pytest.fixture(scope="session")
def vad() -> SileroVad:
    from interlock.workers.speech.vad import SileroVad

    return SileroVad(capacity=64)


@pytest.fixture
def ears(loaded_ears: Ears) -> Iterator[Ears]:
    assert loaded_ears.held() == {"slots": 0, "bytes": 0, "decoders": 0}
    yield loaded_ears
    for request_id in ("a", "b", "c"):
        loaded_ears.close(request_id)
    assert loaded_ears.held() == {"slots": 0, "bytes": 0, "decoders": 0}


@pytest.fixture
def voice(loaded_voice: Voice) -> Iterator[Voice]:
    assert loaded_voice.held() == {"slots": 0, "bytes": 0}
    yield loaded_voice
    for request_id in ("a", "b", "c"):
        loaded_voice.close(request_id)
    assert loaded_voice.held() == {"slots": 0, "bytes": 0}
