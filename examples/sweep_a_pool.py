"""A connection pool that leaks a connection if it is cancelled at one certain line, and the sweep that finds it.

Run it with `interlock sweep examples/sweep_a_pool.py`. The pool is ordinary trio and knows nothing of Interlock. Its
tests pass, it works in production, and now and then, after a burst of clients that went away, it is one connection
smaller than before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from interlock.proof import Trial, scenario


class Connection:
    """One connection to a database; `hello` takes a moment, as does every query."""

    async def hello(self) -> None:
        await trio.sleep(0.05)

    async def query(self, text: str) -> str:
        await trio.sleep(0.01)
        return text.upper()


class Pool:
    """At most `size` connections; whoever wants one more waits for one to come back."""

    def __init__(self, size: int) -> None:
        self.idle = [Connection() for _ in range(size)]
        self.places = trio.Semaphore(size)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        await self.places.acquire()
        connection = self.idle.pop()
        await connection.hello()  # cancelled here, the connection is in nobody's hands
        try:
            yield connection
        finally:
            self.idle.append(connection)
            self.places.release()


class MendedPool(Pool):
    """The same, with the `try` in the line in which the connection is taken."""

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        await self.places.acquire()
        connection = self.idle.pop()
        try:
            await connection.hello()
            yield connection
        finally:
            self.idle.append(connection)
            self.places.release()


async def ask_twice(pool: Pool) -> list[str]:
    """Ask two questions at once, over a pool that may have one connection for both, within a second."""
    answers: list[str] = []

    async def ask(question: str) -> None:
        async with pool.connection() as connection:
            answers.append(await connection.query(question))

    with trio.fail_after(1):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "one")
            nursery.start_soon(ask, "two")
    return answers


async def check(trial: Trial, pool: Pool, size: int) -> None:
    outcome = await trial.operation(ask_twice, pool)
    assert len(pool.idle) == size, f"the pool of {size} has {len(pool.idle)} left"
    assert pool.places.value == size, f"{size - pool.places.value} places are never given back"
    if outcome.returned:
        assert set(outcome.value) == {"ONE", "TWO"}


@scenario(depth=2)
async def leaky(trial: Trial) -> None:
    await check(trial, Pool(1), 1)


@scenario(depth=2)
async def mended(trial: Trial) -> None:
    await check(trial, MendedPool(1), 1)
