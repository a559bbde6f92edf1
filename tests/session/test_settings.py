"""Settings: each rule between two of them, and no value that only looks like one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from interlock.session.settings import Settings


def test_the_defaults_agree() -> None:
    settings = Settings()
    assert settings.grace_s <= settings.journal_age_s
    assert settings.cleanup_s + settings.drain_s <= settings.shutdown_s


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"grace_s": 61.0}, "grace_s = 61.0 is over journal_age_s = 60.0: lower the former, or raise the latter"),
        ({"journal_age_s": 29.0}, "grace_s = 30.0 is over journal_age_s = 29.0"),
        ({"journal_bytes": 64 * 1024, "write_bytes": 64 * 1024 + 1}, "write_bytes = 65537 is over journal_bytes"),
        ({"cleanup_s": 10.5}, "cleanup_s = 10.5 is over shutdown_s = 10.0"),
        ({"drain_s": 10.5}, "drain_s = 10.5 is over shutdown_s = 10.0"),
        ({"idle_s": 3601.0}, "idle_s = 3601.0 is over idle_max_s = 3600.0: lower the former, or raise the latter"),
        ({"max_requests": 2000}, "max_steps = 10000 is under 10 a request"),
        ({"max_steps": 100}, "max_steps = 100 is under 10 a request"),
    ],
)
def test_each_rule_between_two_settings_names_both(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(**wrong)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"grace_s": 0.0},
        {"grace_s": -1.0},
        {"grace_s": float("nan")},
        {"idle_s": float("inf"), "idle_max_s": float("inf")},
        {"max_retries": -1},
        {"config_bytes": 0},
        {"max_sessions": 0},
        {"max_sessions": "64"},
        {"max_sessions": 1.5},
        {"max_evicting": 0},
        {"overflow": "ignore"},
        {"no_such_setting": 1},
    ],
)
def test_what_is_no_setting_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)


def test_settings_are_equal_by_value_and_never_change() -> None:
    assert Settings(grace_s=5.0) == Settings(grace_s=5.0)
    with pytest.raises(ValidationError):
        Settings().grace_s = 1.0
