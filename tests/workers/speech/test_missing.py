"""What is said where the extra is not installed; and that asking for a stage loads no more than that stage."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.speech


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("stage", "library"), [("ears", "pocketsphinx"), ("ears", "torch"), ("ears", "soxr"), ("voice", "hibari")]
)
def test_a_missing_library_names_the_extra(stage: str, library: str) -> None:
    program = f"""
import sys
sys.modules["{library}"] = None
try:
    import interlock.workers.speech.{stage}
except ImportError as error:
    print(error)
"""
    assert run(program) == f"{library} is not there: install interlock[speech]"


@pytest.mark.parametrize(
    ("module", "loaded"),
    [("workers.stage", set()), ("workers.speech.mind", set()), ("workers.speech.voice", {"hibari", "numpy", "soxr"})],
)
def test_a_stage_loads_only_its_own_libraries(module: str, loaded: set[str]) -> None:
    extras = {"torch", "pocketsphinx", "hibari", "numpy", "soxr", "silero_vad"}
    program = f"import sys, interlock.{module}; print(*sorted({extras} & set(sys.modules)))"
    assert set(run(program).split()) == loaded
