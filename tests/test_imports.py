"""Importing Interlock, or asking for its help, loads nothing that an extra brings."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import interlock

EXTRAS = {
    # what an extra brings
    "torch",
    "transformers",
    "safetensors",
    "websockets",
    "pocketsphinx",
    "onnxruntime",
    "pygraphviz",
    "numpy",
    "prometheus_client",
    "pydantic_settings",
    "opentelemetry",
    "silero_vad",
    "hibari",
    "soxr",
}

ASK = """
import json, runpy, sys
sys.argv = ["interlock", "--help"]
try:
    {act}
except SystemExit as end:
    assert not end.code, end.code
print("\\n" + json.dumps(sorted(sys.modules)))
"""


def loaded_by(act: str) -> set[str]:
    """Run one line in a fresh interpreter, and give the top-level modules that are loaded after it."""
    result = subprocess.run([sys.executable, "-c", ASK.format(act=act)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return {name.partition(".")[0] for name in json.loads(result.stdout.splitlines()[-1])}


@pytest.mark.parametrize("act", ["import interlock", "runpy.run_module('interlock', run_name='__main__')"])
def test_no_extra_is_loaded(act: str) -> None:
    loaded = loaded_by(act)
    assert "interlock" in loaded
    assert loaded & EXTRAS == set()


@pytest.mark.parametrize("act", ["import interlock.serve", "import interlock.workers.echo, interlock.workers.fleet"])
def test_a_server_leaves_torch_to_its_workers(act: str) -> None:
    assert not loaded_by(act) & {"torch", "transformers"}


def test_the_checks_of_machine_files_need_no_torch() -> None:
    act = "sys.argv[1:] = ['check', 'machines']; runpy.run_module('interlock', run_name='__main__')"
    loaded = loaded_by(act)
    assert "interlock" in loaded
    assert not loaded & {"torch", "transformers"}


def test_import_alone_does_not_load_trio() -> None:
    assert "trio" not in loaded_by("import interlock")


def test_the_embedded_runtime_needs_nothing_but_what_interlock_needs() -> None:
    loaded = loaded_by("import interlock.embed")
    assert not loaded & (EXTRAS | {"fastapi", "starlette", "uvicorn", "uvloop"})


def test_the_question_can_be_answered_with_yes() -> None:
    assert "pygraphviz" in loaded_by("import pygraphviz")


@pytest.mark.parametrize("name", interlock.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(interlock, name) is not None
    assert name in dir(interlock)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'unheard_of'"):
        _ = interlock.unheard_of  # type: ignore[attr-defined]
