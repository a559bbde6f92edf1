"""A plan's text replays it; a text that is no plan is refused with what would be one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.proof.plan import ENTRY, FAULTS, BadPlan, Phase, injection, parse, text

SCOPES = st.builds(
    injection,
    st.sampled_from([Phase.EARLY, Phase.LATE]),
    st.integers(0, 999),
    st.sampled_from(["op", "host", "timer1"]),
)
PORTS = st.builds(injection, st.sampled_from(FAULTS), st.integers(1, 999), st.sampled_from(["a.send", "b.__anext__"]))


@given(st.lists(SCOPES | PORTS | st.just(ENTRY)).map(tuple))
def test_a_plan_is_read_as_it_was_written(plan: tuple[object, ...]) -> None:
    assert parse(text(plan)) == plan  # type: ignore[arg-type]


def test_the_text_of_a_plan() -> None:
    plan = (injection(Phase.EARLY, 7, "op"), injection(Phase.RAISE, 3, "transport.send"))
    assert text(plan) == "early@7:op,raise@3:transport.send"
    assert parse(" early@7:op , raise@3:transport.send ") == plan
    assert parse("") == ()


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("early", "write phase@number:target"),
        ("sooner@7:op", "the phase one of entry, early, late, raise, lose, hang, cancel"),
        ("early@-1:op", "write phase@number:target"),
        ("early@7:", "write phase@number:target"),
        ("raise@7:send", "a raise needs a port and its method, as in raise@1:transport.send"),
        ("entry@1:op", "write entry@0:op"),
        ("entry@0:host", "write entry@0:op"),
    ],
)
def test_what_is_no_plan_is_refused_with_a_remedy(written: str, remedy: str) -> None:
    with pytest.raises(BadPlan) as refused:
        parse(written)
    assert remedy in str(refused.value)
