"""The same machine in eight engines: six states in a ring; plain, and with a guard and an assignment.

Each function returns ``run(steps)``, which takes so many steps around the ring. The assignment returns its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, make_dataclass
from typing import Any, ClassVar, Protocol

from interlock.machine import Machine, Message, Row, StateInfo, Table

Run = Callable[[int], None]
RING = [f"S{number}" for number in range(6)]
PAIRS = list(zip(RING, [*RING[1:], RING[0]], strict=True))


@dataclass(frozen=True, slots=True)
class Go(Message):
    machine: ClassVar[str] = "ring"


def may_go(data: Any, event: Any) -> bool:
    return True


def keep(data: Any, event: Any) -> Any:
    return data


def lookup() -> Run:
    """The unit: a bare dictionary lookup of (state, event)."""
    table = {(state, "go"): (to, None) for state, to in PAIRS}

    def run(steps: int) -> None:
        state = "S0"
        for _ in range(steps):
            state, _action = table[state, "go"]

    return run


def ring(*, guarded: bool) -> Machine[Any]:
    """Our machine, as the generated table would have it."""
    if guarded:
        rows = [Row(state, Go, guard="may_go", to=to, assign=("keep",)) for state, to in PAIRS]
        rows = [row for first in rows for row in (first, Row(first.state, Go))]
    else:
        rows = [Row(state, Go, to=to) for state, to in PAIRS]
    table = Table("ring", "", "S0", (), tuple(StateInfo(state, "rest") for state in RING), tuple(rows), (Go,))
    names = {"may_go": may_go, "keep": keep} if guarded else {}
    return Machine(table, make_dataclass("Bindings", names)(**names), lambda event: None)


def interlock(*, guarded: bool) -> Run:
    step, event = ring(guarded=guarded).step, Go()

    def run(steps: int) -> None:
        state, data = "S0", None
        for _ in range(steps):
            state, data, _messages, _row = step(state, data, event)

    return run


def h2_table(*, guarded: bool) -> Run:
    """The way of h2: (state, input) to (function, target), in a process_input() with its checks."""
    table = {(state, "go"): (keep if guarded else None, to) for state, to in PAIRS}

    class Stream:
        state = "S0"
        data = None

        def process_input(self, event: str) -> list[Any]:
            if not isinstance(event, str):
                raise TypeError(event)
            try:
                act, target = table[self.state, event]
            except KeyError:
                self.state = "CLOSED"
                raise
            previous, self.state = self.state, target
            if act is not None:
                if not may_go(self.data, event):
                    self.state = previous
                    return []
                self.data = act(self.data, event)
            return []

    return _sends(Stream().process_input, "go")


def h11_table(*, guarded: bool) -> Run:
    """The way of h11: role to state to event type to target, and then the rules that fire by state alone."""
    table: dict[str, dict[str, dict[type, str]]] = {"CLIENT": {state: {Go: to} for state, to in PAIRS}}
    by_state: dict[tuple[str, str], dict[str, str]] = {}

    class Connection:
        def __init__(self) -> None:
            self.states = {"CLIENT": "S0", "SERVER": "IDLE"}
            self.data = None

        def process_event(self, role: str, event_type: type) -> None:
            if guarded:
                if not may_go(self.data, event_type):
                    return
                self.data = keep(self.data, event_type)
            self.states[role] = table[role][self.states[role]][event_type]
            self.fire()

        def fire(self) -> None:
            while True:
                start = dict(self.states)
                joint = self.states["CLIENT"], self.states["SERVER"]
                self.states.update(by_state.get(joint, {}))
                if self.states == start:
                    return

    connection = Connection()

    def run(steps: int) -> None:
        process_event = connection.process_event
        for _ in range(steps):
            process_event("CLIENT", Go)

    return run


def transitions(*, guarded: bool) -> Run:
    from transitions import Machine as Engine

    class Model:
        def may_go_on(self) -> bool:
            return may_go(None, None)

        def keep_data(self) -> None:
            keep(None, None)

    model: Any = Model()
    engine = Engine(model, RING, initial="S0", auto_transitions=False)
    for state, to in PAIRS:
        more = {"conditions": "may_go_on", "before": "keep_data"} if guarded else {}
        engine.add_transition("go", state, to, **more)
    return _calls(model.go)


def python_statemachine(*, guarded: bool) -> Run:
    from statemachine import State, StateMachine

    states = {name: State(initial=name == "S0") for name in RING}
    rows = [states[state].to(states[to], **({"cond": "may_go_on"} if guarded else {})) for state, to in PAIRS]
    go = rows[0]
    for row in rows[1:]:
        go = go | row
    body: dict[str, Any] = {**states, "go": go}
    if guarded:
        body |= {"may_go_on": lambda self: True, "on_go": lambda self: keep(None, None)}
    return _calls(type("Ring", (StateMachine,), body)().go)


def automat(*, guarded: bool) -> Run:
    """Automat has no guards: the question is asked in the output."""
    from automat import TypeMachineBuilder

    class Ring(Protocol):
        def go(self) -> None: ...

    class Core:
        data = None

    builder = TypeMachineBuilder(Ring, Core)
    states = {name: builder.state(name) for name in RING}
    for state, to in PAIRS:
        upon = states[state].upon(Ring.go).to(states[to])
        if guarded:

            @upon
            def ask(ring: Ring, core: Core) -> None:
                if may_go(core.data, None):
                    core.data = keep(core.data, None)

        else:
            upon.returns(None)
    return _calls(builder.build()(Core()).go)


def sismic(*, guarded: bool) -> Run:
    from sismic.interpreter import Interpreter
    from sismic.io import import_from_yaml

    row = "guard: may_go(None, None)\n            action: data = keep(None, None)" if guarded else ""
    states = "".join(
        f"    - name: {state}\n      transitions:\n          - event: go\n            target: {to}\n            {row}\n"
        for state, to in PAIRS
    )
    text = f"statechart:\n  name: ring\n  root state:\n    name: root\n    initial: S0\n    states:\n{states}"
    interpreter = Interpreter(import_from_yaml(text), initial_context={"may_go": may_go, "keep": keep})
    interpreter.execute_once()

    def run(steps: int) -> None:
        for _ in range(steps):
            interpreter.queue("go")
            interpreter.execute_once()

    return run


def xstate(*, guarded: bool) -> Run:
    from xstate_statemachine import MachineLogic, SyncInterpreter, create_machine

    more = {"guard": "mayGo", "actions": ["keep"]} if guarded else {}
    states = {state: {"on": {"GO": {"target": to, **more}}} for state, to in PAIRS}
    logic = MachineLogic(
        guards={"mayGo": lambda context, event: True},
        actions={"keep": lambda interpreter, context, event, action: None},
    )
    interpreter = SyncInterpreter(create_machine({"id": "ring", "initial": "S0", "states": states}, logic=logic))
    interpreter.start()
    return _sends(interpreter.send, "GO")


def peers() -> Iterator[tuple[str, str, Callable[..., Run], int]]:
    """Yield the name, the package, the machine and the steps of a sample of every engine."""
    yield "h2-style table", "", h2_table, 20_000
    yield "h11-style tables", "", h11_table, 10_000
    yield "Automat", "automat", automat, 3_000
    yield "transitions", "transitions", transitions, 600
    yield "xstate-statemachine", "xstate-statemachine", xstate, 400
    yield "sismic", "sismic", sismic, 100
    yield "python-statemachine", "python-statemachine", python_statemachine, 60


def _calls(go: Callable[[], Any]) -> Run:
    def run(steps: int) -> None:
        for _ in range(steps):
            go()

    return run


def _sends(send: Callable[[Any], Any], event: Any) -> Run:
    def run(steps: int) -> None:
        for _ in range(steps):
            send(event)

    return run
