"""Machines of `transitions` become machine files that do the same, or say what they do not."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import make_dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transitions import MachineError
from transitions.extensions.markup import HierarchicalMarkupMachine

from interlock.errors import Defect
from interlock.machine import Machine, Table, bound_names
from interlock.spec.build import built
from interlock.spec.check import findings
from interlock.spec.finding import Unusable
from interlock.spec.imported import Imported, camel, capitals, imported, snake
from interlock.spec.markup import parsed
from interlock.spec.plan import blueprint
from interlock.spec.read import parse

PLAYER = {
    "name": "player",
    "initial": "stopped",
    "states": [
        "stopped",
        {"name": "on", "initial": "playing", "children": ["playing", {"name": "paused", "on_enter": "dim"}]},
        {"name": "gone", "final": True},
    ],
    "transitions": [
        {"trigger": "play", "source": "stopped", "dest": "on", "conditions": ["has_disc"], "unless": "is_locked"},
        ["toggle", "on_playing", "on_paused"],
        ["toggle", "on_paused", "on_playing"],
        {"trigger": "volume_up", "source": "on", "dest": None, "after": ["tell"]},
        ["stop", "on", "stopped"],
        ["rewind", "on", "="],
        ["remove", "*", "gone"],
    ],
    "auto_transitions": False,
    "queued": True,
}


def table_of(made: Imported) -> Table:
    """Return the table that an imported file compiles to; it has no findings but that a state may be unreachable."""
    plans = blueprint((parse("a.toml", made.text),))
    assert [finding for finding in findings(plans) if finding.rule not in ("unreachable", "nobody-takes")] == []
    (table,) = built(plans).values()
    return table


def test_a_nested_machine_is_flat_and_clean() -> None:
    made = imported(parsed("player.json", json.dumps(PLAYER)))
    assert findings(blueprint((parse("a.toml", made.text),))) == ()
    rows = {(row.state, row.event.__name__, row.guard, row.to) for row in table_of(made).rows}
    assert rows == {
        ("STOPPED", "Play", "has_disc_and_not_is_locked", "ON_PLAYING"),
        ("STOPPED", "Play", None, None),
        ("ON_PLAYING", "Toggle", None, "ON_PAUSED"),
        ("ON_PAUSED", "Toggle", None, "ON_PLAYING"),
        *{(state, "VolumeUp", None, None) for state in ("ON_PLAYING", "ON_PAUSED")},
        *{(state, "Stop", None, "STOPPED") for state in ("ON_PLAYING", "ON_PAUSED")},
        *{(state, "Rewind", None, "ON_PLAYING") for state in ("ON_PLAYING", "ON_PAUSED")},
        *{(state, "Remove", None, "GONE") for state in ("STOPPED", "ON_PLAYING", "ON_PAUSED")},
    }


def test_what_is_not_carried_is_said() -> None:
    notes = imported(parsed("player.json", json.dumps(PLAYER))).notes
    assert notes == (
        "GONE is final, and its rows, which lead nowhere else, are dropped",
        "queued is not carried: our machines run to completion, depth first",
        "after of volume_up from on is not carried: tell; write it as assign, emit or timeouts",
        "on_enter of state on_paused is not carried: dim; write it as assign, emit or timeouts",
        "guard `has_disc_and_not_is_locked` stands for: has_disc and not is_locked",
    )


def test_python_as_it_is_printed_is_read_too() -> None:
    assert parsed("a.py", str(PLAYER)) == parsed("a.json", json.dumps(PLAYER))


TO_AND_FRO = [["go", "a", "b"], ["go", "b", "a"]]


def test_a_machine_without_an_end_is_given_one_and_told() -> None:
    made = imported(parsed("a", json.dumps({"states": ["a", "b"], "initial": "a", "transitions": TO_AND_FRO})))
    assert "from A, B no row led to an end, so state ENDED and event MachineEnded are added" in made.notes
    assert table_of(made).final == ("ENDED",)


def test_names_that_would_become_one_are_kept_apart() -> None:
    markup = {
        "states": ["a b", "a_b", "A-B", "1"],
        "initial": "1",
        "transitions": [["go", "*", "a b"], ["Go", "*", "1"]],
    }
    made = imported(parsed("a", json.dumps(markup)), name="class")
    assert [info.name for info in table_of(made).states] == ["A_B", "A_B2", "A_B3", "S_1", "ENDED"]
    assert {event.__name__ for event in table_of(made).events} == {"Go", "Go2", "MachineEnded"}


@pytest.mark.parametrize(
    ("name", "state", "message", "guard"),
    [
        ("isReady", "IS_READY", "IsReady", "is_ready"),
        ("x", "X", "XEvent", "x"),
        ("2 go!", "S_2_GO", "E2Go", "n_2_go"),
        ("message", "MESSAGE", "MessageEvent", "message"),
        ("class", "CLASS", "Class", "is_class"),
        ("é", "X", "XEvent", "x"),
    ],
)
def test_names_are_made_to_fit(name: str, state: str, message: str, guard: str) -> None:
    assert (capitals(name), camel(name), snake(name)) == (state, message, guard)


BAD = ["", "[]", "{", "{}", '{"states": []}', '{"states": [1]}', '{"states": ["a"], "transitions": [["a"]]}', "f(1)"]
BAD += ["[" * 100_000, '{"states": ' + '[{"name": "a", "children": ' * 5_000 + "[]" + "}]" * 5_000 + "}", "'\0'"]


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_is_no_markup_is_one_line(text: str) -> None:
    with pytest.raises(Unusable) as caught:
        parsed("a.json", text)
    assert str(caught.value).startswith("a.json: ")
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------------------------- both do the same

CONDITIONS = ("may", "can")
TRIGGERS = ("go", "stop", "turn")


@st.composite
def states(draw: st.DrawFn, depth: int, letters: str) -> list[Any]:
    """Generate two or three states, of which some have children; where they do, one may be entered first."""
    made: list[Any] = []
    for letter in letters[: draw(st.integers(2, 3))]:
        if depth and draw(st.booleans()):
            children = draw(states(depth - 1, "pqr" if depth == 2 else "xyz"))
            names = [child if isinstance(child, str) else child["name"] for child in children]
            made.append({"name": letter, "children": children, "initial": draw(st.sampled_from(names))})
        else:
            made.append(letter)
    return made


def named(states: list[Any], above: str = "") -> Iterator[str]:
    """Yield the full name of every state."""
    for state in states:
        name = above + (state if isinstance(state, str) else state["name"])
        yield name
        if not isinstance(state, str):
            yield from named(state["children"], f"{name}_")


@st.composite
def markups(draw: st.DrawFn) -> dict[str, Any]:
    """Generate a machine with nested states, and conditions that are met or not."""
    tree = draw(states(2, "ABC"))
    names = list(named(tree))
    some = st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True)
    row = st.fixed_dictionaries(
        {
            "trigger": st.sampled_from(TRIGGERS),
            "source": st.sampled_from([*names, "*"]),
            "dest": st.sampled_from([*names, None, "="]),
            "conditions": some,
            "unless": some,
        }
    )
    rows = draw(st.lists(row, min_size=1, max_size=10))
    return {"states": tree, "initial": names[0], "transitions": rows, "ignore_invalid_triggers": draw(st.booleans())}


def theirs(markup: dict[str, Any]) -> Any:
    """Return the machine that `transitions` makes, with the conditions as attributes."""

    class Model:
        may, can = True, False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        HierarchicalMarkupMachine(model := Model(), auto_transitions=False, **markup)
    return model


def ours(made: Imported, yes: set[str]) -> Machine[Any]:
    """Return our machine of the imported file; its guards hold while what they stand for does."""

    table = table_of(made)
    names = {name: (lambda data, event, name=name: holds(made.guards[name], yes)) for name in bound_names(table)}
    return Machine(table, make_dataclass("Bindings", names)(**names), lambda event: None)


def holds(words: str, yes: set[str]) -> bool:
    """Say whether `may and not can` holds."""
    return all((part.removeprefix("not ") in yes) != part.startswith("not ") for part in words.split(" and "))


@settings(max_examples=150, deadline=None)
@given(markup=markups(), data=st.data())
def test_an_imported_machine_goes_where_the_original_goes(markup: dict[str, Any], data: st.DataObject) -> None:
    model = theirs(markup)
    made = imported(parsed("a.json", json.dumps(markup)))
    yes: set[str] = set()
    machine = ours(made, yes)
    kinds = {event.__name__: event for event in machine.table.events}
    state: str = machine.table.initial
    for trigger in data.draw(st.lists(st.sampled_from(TRIGGERS), max_size=12)):
        yes.clear()
        yes.update(data.draw(st.sets(st.sampled_from(CONDITIONS))))
        model.may, model.can = "may" in yes, "can" in yes
        with suppress(MachineError, AttributeError):
            model.trigger(trigger)
        if camel(trigger) in kinds:
            with suppress(Defect):
                state = machine.step(state, None, kinds[camel(trigger)]()).state
        assert state == capitals(model.state)


KEYS = ("name", "states", "children", "initial", "transitions", "trigger", "source", "dest", "final", "conditions")
WORDS = st.one_of(
    st.text(max_size=4), st.sampled_from(["a", "b", "a_b", "message", "None", "class", "<script>", "-->", "*"])
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
SHAPED = st.recursive(
    st.fixed_dictionaries({"name": WORDS}, optional={"final": st.booleans(), "on_enter": WORDS, "initial": WORDS}),
    lambda inner: st.fixed_dictionaries(
        {"name": WORDS, "children": st.lists(inner, max_size=3)}, optional={"initial": JSON}
    ),
    max_leaves=6,
)
ARROWS = st.lists(
    st.fixed_dictionaries(
        {"trigger": WORDS, "source": WORDS}, optional={"dest": st.none() | WORDS, "conditions": WORDS, "unless": WORDS}
    ),
    max_size=5,
)
ANY = JSON | st.fixed_dictionaries(
    {"states": st.lists(SHAPED, min_size=1, max_size=3), "transitions": ARROWS, "initial": WORDS}
)
MENDED = {"unreachable", "nobody-takes"}
"""What an imported machine may still have: `transitions` asks for neither."""


def brought(markup: Any) -> Imported | str:
    """Return what becomes of a markup: a machine file, or why not."""
    try:
        return imported(parsed("a.json", json.dumps(markup)))
    except Unusable as wrong:
        return str(wrong)


@settings(max_examples=500, deadline=None)
@given(markup=ANY)
def test_whatever_is_imported_is_one_line_or_a_machine(markup: Any) -> None:
    made = brought(markup)
    if isinstance(made, str):
        assert re.fullmatch(r"a\.json: .+", made)
    else:
        assert {finding.rule for finding in findings(blueprint((parse("a.toml", made.text),)))} <= MENDED
