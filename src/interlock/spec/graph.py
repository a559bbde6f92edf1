"""Paths and loops of a directed graph, in time that grows with its edges: a machine may have 10,000 states."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

Onward = dict[str, list[str]]


def onward(edges: Iterable[tuple[str, str]]) -> Onward:
    """Return where each node leads to."""
    found: Onward = {}
    for node, to in edges:
        found.setdefault(node, []).append(to)
    return found


def closure(start: Iterable[str], edges: Iterable[tuple[str, str]]) -> set[str]:
    """Return ``start`` and all that ``edges`` lead to from there."""
    return _reached(start, onward(edges), set())


def loops(edges: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Return the nodes of each loop; loops that share a node are one (strongly connected, after Kosaraju)."""
    pairs = list(edges)
    ahead, back = onward(pairs), onward((to, node) for node, to in pairs)
    placed: set[str] = set()
    found: list[set[str]] = []
    for node in reversed(list(_finished(ahead))):
        if node not in placed:
            together = _reached([node], back, placed)
            placed |= together
            if len(together) > 1 or node in ahead.get(node, ()):
                found.append(together)
    return found


def loop_through(start: str, nodes: Container[str], ahead: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a shortest way from ``start`` back to it, within ``nodes``; both ends are ``start``."""
    came: dict[str, str] = {}
    queue = [start]
    for node in queue:
        for to in ahead.get(node, ()):
            if to in nodes and to not in came:
                came[to] = node
                queue.append(to)
    way = [start]
    while len(way) == 1 or way[-1] != start:
        way.append(came[way[-1]])
    return way[::-1]


def _reached(start: Iterable[str], ahead: Mapping[str, Iterable[str]], without: Container[str]) -> set[str]:
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for to in ahead.get(waiting.pop(), ()):
            if to not in reached and to not in without:
                reached.add(to)
                waiting.append(to)
    return reached


def _finished(ahead: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield every node after all that it leads to, as far as loops allow."""
    seen: set[str] = set()
    for root in ahead:
        path = [] if root in seen else [(root, iter(ahead[root]))]
        seen.add(root)
        while path:
            node, rest = path[-1]
            to = next((to for to in rest if to not in seen), None)
            if to is None:
                yield node
                path.pop()
            else:
                seen.add(to)
                path.append((to, iter(ahead.get(to, ()))))
