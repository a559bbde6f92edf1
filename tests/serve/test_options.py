"""What `interlock serve --set` takes: every setting by its name, and a sentence for what it does not take."""

from __future__ import annotations

import argparse

import pytest

from interlock.errors import WorldError
from interlock.serve import arguments, options
from interlock.session.settings import Settings


def settings_of(*assignments: str) -> Settings:
    """Read a command line."""
    parser = argparse.ArgumentParser()
    arguments(parser)
    line = ["--scripted", "1", *(word for each in assignments for word in ("--set", each))]
    return options(parser.parse_args(line), {}).config.session


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_can_be_set(name: str) -> None:
    now = getattr(Settings(), name)
    other = "drop_oldest" if name == "overflow" else now + 1
    beside = {"idle_s": "idle_max_s=9999", "grace_s": "journal_age_s=9999"}.get(name, "max_sessions=64")
    chosen = settings_of(beside, f"{name}={other}")
    assert (getattr(chosen, name), now) == (other, getattr(Settings(), name))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("no_such_setting=1", r"there is no setting 'no_such_setting'; "),
        ("grace_s", r"is not NAME=VALUE"),
        ("grace_s=soon", r"session.grace_s = soon.*unable to parse"),
        ("max_sessions=0", r"session.max_sessions = 0: .*greater than or equal to 1"),
        ("idle_s=inf", r"session.idle_s = inf: .*finite number"),
        ("grace_s=90", r"grace_s = 90\.0 is over journal_age_s = 60\.0: lower the former, or raise the latter"),
        ("drain_s=11", r"drain_s = 11\.0 is over shutdown_s = 10\.0: lower the former, or raise the latter"),
        ("max_requests=2000", r"max_steps = 10000 is under 10 a request: raise it to 20000"),
    ],
)
def test_what_cannot_be_set_is_named_with_its_value_and_a_remedy(wrong: str, told: str) -> None:
    with pytest.raises(WorldError, match=told):
        settings_of(wrong)
