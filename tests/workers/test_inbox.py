"""Between the reader and the loop: in order, bounded by bytes, and no order is too large to pass."""

from __future__ import annotations

import threading

from interlock.workers.inbox import Inbox
from interlock.workers.protocol import Append, Stop


def test_orders_pass_in_order() -> None:
    inbox = Inbox(100)
    orders = [Append("r1", bytes(size)) for size in (1, 2, 3)]
    assert all(inbox.put(order, 10, 0) for order in orders)
    assert [inbox.take(0) for _ in range(4)] == [*orders, None]


def test_over_the_limit_nothing_is_put_until_something_is_taken() -> None:
    inbox = Inbox(100)
    assert inbox.put(Stop(), 60, 0)
    assert not inbox.put(Stop(), 60, 0)
    inbox.take(0)
    assert inbox.put(Stop(), 60, 0)


def test_an_order_over_the_whole_limit_passes_alone() -> None:
    inbox = Inbox(100)
    assert inbox.put(Stop(), 1_000, 0)
    assert not inbox.put(Stop(), 1, 0)
    assert inbox.take(0) == Stop()
    assert inbox.put(Stop(), 1, 0)


def test_who_waits_for_room_or_for_an_order_is_woken() -> None:
    inbox, passed = Inbox(10), list[object]()

    def put() -> None:
        for number in range(50):
            passed.append(inbox.put(Append("r1", bytes(number)), 10, 30))

    thread = threading.Thread(target=put)
    thread.start()
    taken = [inbox.take(30) for _ in range(50)]
    thread.join()
    assert taken == [Append("r1", bytes(number)) for number in range(50)]
    assert passed == [True] * 50
