"""What must hold in a fuzzed world at rest, and after its end: between the runtime, the stages and the clients.

The five promises are asked at every commit (:mod:`interlock.proof.promises`). Here is what a commit cannot show: that
what was sequenced arrives, that nobody waits for nothing, that what was ordered to close is closed in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import trio

from interlock.proof.fuzz_story import Link, wrong_in
from interlock.proof.promises import CLAIMED, judge_rest
from interlock.runtime.driver import Driver

if TYPE_CHECKING:
    from interlock.proof.fuzz_world import World


def wrong_at_rest(world: World, *, whole: bool) -> Iterator[str]:
    """Yield what does not hold although every task waits; not ``whole``, only of sessions that have moved since."""
    for link in world.links:
        link.listen(world.ledger)
    for driver in world.host.drivers.values():
        if whole or world.judged.get(driver.session_id) is not driver.value:
            yield from (f"{sentence} (at rest)" for sentence in judge_rest(driver))
            yield from _wrong_with(world, driver)
            world.judged[driver.session_id] = driver.value
        yield from _not_in_time(world, driver)
    for call in world.calls:
        if not call.outcome and call.link.reads and not world.pipeline.prepare_s:
            yield "promise 1: a call of open or resume waits for nothing"
        if call.outcome == "cancelled" and _carries(world, call.link):
            yield "promise 1: a claim that was cancelled carries the session"
    world.calls = [call for call in world.calls if not call.outcome]


def _wrong_with(world: World, driver: Driver) -> Iterator[str]:
    value, delivery = driver.value, driver.delivery
    if value.state("session") != "OPEN":
        return
    link = delivery.transport if delivery is not None else None
    if isinstance(link, Link) and delivery is not None and link.reads and delivery.mode == "live":
        missing = set(range(link.last + 1, value.journal.head + 1)) - world.ledger.story(driver.session_id).voided
        if missing or value.state("attachment") != "ATTACHED":
            state = value.state("attachment")
            yield f"promise 3: {state} at rest, and {sorted(missing)[:5]} do not reach a client that reads"
    if not driver.offers and not world.ledger.story(driver.session_id).tokens:
        yield "promise 1: a session is open that nobody can name"


def _not_in_time(world: World, driver: Driver) -> Iterator[str]:
    story, settings, now = world.ledger.story(driver.session_id), driver.settings, trio.current_time()
    for generation in driver.value.closing:
        since = now - story.ordered[generation]
        if since > max(settings.evict_s, settings.drain_s) + 1e-3:
            yield f"promise 1: transport {generation} was to be closed {since:g} s ago"
    since = now - story.grace_began
    if driver.value.state("lease") == "GRACE" and since > settings.grace_s + 1e-3:
        yield f"promise 3: nobody was attached for {since:g} s, and the session lives on"


def _carries(world: World, link: Link) -> bool:
    return any(
        delivery.transport is link and driver.value.state("attachment") in CLAIMED
        for driver in world.host.drivers.values()
        for delivery in [driver.delivery]
        if delivery is not None
    )


def wrong_at_the_end(world: World) -> Iterator[str]:
    """Yield what is left of a host that has stopped, and what was heard that may not be heard together."""
    host = world.host
    if not world.host_over:
        yield "promise 1: the host does not come to its end"
    if host.owed():
        yield f"promise 4: after the end {host.owed()[:3]} are owed"
    if (host.slots, len(host.drivers), len(host.deadlines)) != (0, 0, 0):
        yield f"promise 4: after the end {host.slots} slots, {len(host.deadlines)} timers are held"
    if world.fleet.held:
        yield f"promise 4: after the end stages hold {world.fleet.held} requests"
    yield from (f"defect: {defect}" for defect in host.defects)
    for link in world.links:
        if len(link.closings) + len(link.aborts) > 1:
            yield f"promise 1: a transport was closed as {[*link.closings, *link.aborts]}"
    for story in world.ledger.stories.values():
        yield from wrong_in(story)
