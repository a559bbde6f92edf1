"""From the name of a model's factory to the model, in whichever thread or process is going to own it."""

from __future__ import annotations

import importlib
from typing import cast

from interlock.errors import WorldError
from interlock.workers.core import ModelFactory, StageSpec
from interlock.workers.loop import Fault, attempt
from interlock.workers.stage import StageModel


def make_model(spec: StageSpec) -> StageModel:
    """Call the factory of ``spec`` with its arguments. Raises :class:`WorldError`, whatever goes wrong in there."""
    made = attempt(lambda: find_factory(spec.model)(**spec.args))
    if isinstance(made, Fault):
        raise WorldError(f"stage {spec.stage}: no model {spec.model!r}: {made.reason}")
    return made


def find_factory(model: str | ModelFactory) -> ModelFactory:
    """Return the callable that ``package.module:factory`` names."""
    if not isinstance(model, str):
        return model
    place, _, name = model.partition(":")
    return cast(ModelFactory, getattr(importlib.import_module(place), name))
