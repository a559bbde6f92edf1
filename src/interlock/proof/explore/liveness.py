"""Properties about runs, on the finished graph: whether the end can always be reached, and what every fair run does.

A run that breaks a promise stays for ever among states that are not the goal. It is a cycle, or a state in which
nothing happens any more. So it lies in one strongly connected part of the graph without its goals, and whether one
exists that is *fair* is decided part by part:

* an action that stays possible happens (weak fairness): a part in which it is possible everywhere, and never taken, is
  no place to stay;
* an action that is possible again and again happens (strong fairness): a run that stays must keep out of the states in
  which it is possible, unless it is taken. Without these states the part may fall apart; each piece is asked again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from interlock.proof.explore.model import Property
from interlock.proof.explore.search import Graph


def traps(graph: Graph, goal: str) -> list[int]:
    """Return the states from which no state marked ``goal`` can be reached, the nearest first."""
    sources, starts = _reversed(graph)
    reached = bytearray(goal in marks for marks in graph.marks)
    waiting = [number for number in range(graph.states) if reached[number]]
    while waiting:
        number = waiting.pop()
        for at in range(starts[number], starts[number + 1]):
            source = sources[at]
            if not reached[source]:
                reached[source] = 1
                waiting.append(source)
    return [number for number in range(graph.states) if not reached[number]]


def stays(graph: Graph, asked: Property) -> list[int]:
    """Return the states of a part in which a fair run can stay for ever without the goal; none if there is none."""
    quiet = bool(asked.moves)
    left = {number for number in range(graph.states) if asked.goal not in graph.marks[number]}
    if asked.after:
        left = _reachable(graph, left, {number for number in left if asked.after in graph.marks[number]}, quiet)
    waiting = [left]
    while waiting:
        for part in parts(graph, waiting.pop(), quiet):
            forced = _forced(graph, part, quiet)
            if forced is None:
                return sorted(part, key=lambda number: graph.depths[number])
            if forced:
                waiting.append(part - forced)
    return []


def parts(graph: Graph, within: set[int], quiet: bool) -> Iterator[set[int]]:
    """Yield the strongly connected parts of a set of states (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in within:
        if root in order:
            continue
        work = [(root, _inside(graph, root, within, quiet))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            number, rest = work[-1]
            for target in rest:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, _inside(graph, target, within, quiet)))
                    break
                if target in on_stack:
                    low[number] = min(low[number], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == order[number]:
                    yield _popped(stack, on_stack, number)


def _popped(stack: list[int], on_stack: set[int], last: int) -> set[int]:
    part: set[int] = set()
    while last not in part:
        part.add(stack.pop())
    on_stack.difference_update(part)
    return part


def _inside(graph: Graph, number: int, within: set[int], quiet: bool) -> Iterator[int]:
    return (target for target, _ in graph.successors(number, quiet=quiet) if target in within)


def _forced(graph: Graph, part: set[int], quiet: bool) -> set[int] | None:
    """Return the states that a fair run cannot visit again and again; ``None`` if it can stay in the whole part.

    All states of the part, if an action is possible in each and never taken inside: then nobody stays.
    """
    possible: dict[int, set[int]] = {}
    taken: set[int] = set()
    for number in part:
        for target, action in graph.successors(number, quiet=quiet):
            if action:
                possible.setdefault(action, set()).add(number)
                if target in part:
                    taken.add(action)
    forced: set[int] = set()
    for action, where in possible.items():
        if action in taken:
            continue
        if len(where) == len(part):
            return set()
        if graph.model.is_strong(graph.names[action]):
            forced |= where
    return forced or None


def _reachable(graph: Graph, within: set[int], begin: Iterable[int], quiet: bool) -> set[int]:
    found = set(begin)
    waiting = list(found)
    while waiting:
        for target in _inside(graph, waiting.pop(), within, quiet):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def _reversed(graph: Graph) -> tuple[array[int], array[int]]:
    """Return all steps by where they lead: sources, and where those of each state begin."""
    counts = array("L", bytes(8 * (graph.states + 1)))
    for target in graph.targets:
        counts[target + 1] += 1
    for number in range(graph.states):
        counts[number + 1] += counts[number]
    starts, at = array("L", counts), array("L", counts)
    sources = array("L", bytes(8 * graph.steps))
    for number in range(graph.states):
        for target, _ in graph.successors(number):
            sources[at[target]] = number
            at[target] += 1
    return sources, starts
