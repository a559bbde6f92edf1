"""The k-th await of a port fails as planned, and only there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType

import pytest
import trio

from interlock.proof import Outcome, Trial, Verdict, run_plan, scenario, sweep
from interlock.proof.judge import Case
from interlock.proof.plan import Phase, parse

ALL = (Phase.RAISE, Phase.LOSE, Phase.HANG, Phase.CANCEL)


class Wire:
    """A port with every shape of await, and one plain method."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, word: str) -> int:
        await trio.lowlevel.checkpoint()
        self.sent.append(word)
        return len(self.sent)

    def count(self) -> int:
        return len(self.sent)

    async def __aenter__(self) -> Wire:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.sent.append("closed")

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        if self.count() > 4:
            raise StopAsyncIteration
        await self.send("read")
        return "read"


def run(plan: str) -> tuple[Outcome, Wire, Case]:
    """Send two words under a plan."""
    kept: list[tuple[Outcome, Wire]] = []

    @scenario
    async def speaking(trial: Trial) -> None:
        wire = Wire()
        port = trial.port(wire, "wire", error=ConnectionError, faults=ALL)
        assert await port.send("set-up") == 1

        async def operation() -> int:
            await port.send("a")
            return await port.send("b")

        kept.append((await trial.operation(operation), wire))

    case = run_plan(speaking, parse(plan))
    return *kept[0], case


def test_without_a_plan_everything_passes_through() -> None:
    outcome, wire, case = run("")
    assert (outcome.value, wire.sent, case.verdict) == (3, ["set-up", "a", "b"], Verdict.PASS)


@pytest.mark.parametrize(
    ("plan", "kind", "sent"),
    [
        ("raise@1:wire.send", "raised", ["set-up"]),
        ("raise@2:wire.send", "raised", ["set-up", "a"]),
        ("lose@2:wire.send", "raised", ["set-up", "a", "b"]),
        ("cancel@2:wire.send", "cancelled", ["set-up", "a"]),
        ("hang@2:wire.send", "cancelled", ["set-up", "a"]),
    ],
)
def test_the_kth_await_fails(plan: str, kind: str, sent: list[str]) -> None:
    outcome, wire, case = run(plan)
    assert (outcome.kind, wire.sent, case.verdict) == (kind, sent, Verdict.PASS)
    assert "port.send(" in case.landings[0].place.source


def test_every_shape_of_await_is_enumerated() -> None:
    @scenario
    async def shapes(trial: Trial) -> None:
        port = trial.port(Wire(), "wire", faults=ALL)

        async def operation() -> None:
            async with port:
                async for word in port:
                    assert word == "read"
                    assert port.count() > 0

        await trial.operation(operation)

    report = sweep(shapes)
    assert report.verdict is Verdict.PASS, str(report)
    ports = {name: tally.fault for name, tally in report.scopes.items() if "." in name}
    assert ports == {"wire.__aenter__": 4, "wire.__anext__": 24, "wire.__aexit__": 4}


def test_an_operation_that_hangs_with_its_port_and_will_not_be_cancelled_is_a_deadlock() -> None:
    @scenario
    async def stubborn(trial: Trial) -> None:
        port = trial.port(Wire(), "wire")

        async def operation() -> None:
            with trio.CancelScope(shield=True):
                await port.send("a")

        await trial.operation(operation)

    report = sweep(stubborn)
    assert [(str(case.plan[0]), case.findings[0][:10]) for case in report.failures] == [
        ("hang@1:wire.send", "a deadlock")
    ]


def test_what_follows_the_operation_can_fail_at_its_ports_but_not_be_cancelled_as_the_operation() -> None:
    @scenario
    async def lingering(trial: Trial) -> None:
        port = trial.port(Wire(), "wire", faults=ALL)
        await trial.operation(trio.lowlevel.checkpoint)
        await trial.settle(port.send, "a")

    phases = [site.phase for site in run_plan(lingering, (), record=True).sites if site.phase.is_of_a_port]
    assert phases == [Phase.RAISE, Phase.LOSE, Phase.HANG]
