"""A small resume(), correct and with one fault planted at a time, as scenarios of the sweep.

A session is settled when it is attached and holds one lease, or is not and holds none. ``resume`` takes a lease, shakes
hands with a child task beside it, and commits; whatever stops it, the lease goes back, or the fence goes up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

import trio

from interlock.proof import Scenario, Trial, scenario

CAUGHT = Exception  # planted: it does not catch a cancel


class Leases:
    """A port: the server that counts how many leases are out."""

    def __init__(self) -> None:
        self.out = 0

    async def acquire(self) -> None:
        await trio.lowlevel.checkpoint()
        self.out += 1

    async def release(self) -> None:
        await trio.sleep(0.1)
        self.out -= 1


class HastyLeases(Leases):
    """Planted: the effect comes before the checkpoint, so a cancelled acquire has happened."""

    async def acquire(self) -> None:
        self.out += 1
        await trio.lowlevel.checkpoint()


class Session:
    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.attached = False
        self.fenced = False

    async def handshake(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 0.2)
            await trio.sleep(0.1)

    async def settle(self) -> None:
        """Give the lease back within a second, or raise the fence, which needs nobody's answer."""
        self.fenced = True
        with trio.move_on_after(1, shield=True):
            await self.leases.release()
            self.fenced = False


Resume = Callable[[Session], Awaitable[None]]


async def correct(session: Session) -> None:
    await session.leases.acquire()
    try:
        with trio.fail_after(5):
            await session.handshake()
    except BaseException:
        await session.settle()
        raise
    session.attached = True


async def except_exception(session: Session) -> None:
    await session.leases.acquire()
    try:
        await session.handshake()
    except CAUGHT:
        await session.settle()
        raise
    session.attached = True


async def unshielded_rollback(session: Session) -> None:
    await session.leases.acquire()
    try:
        await session.handshake()
    except BaseException:
        await session.leases.release()
        raise
    session.attached = True


async def shield_without_deadline(session: Session) -> None:
    await session.leases.acquire()
    try:
        await session.handshake()
    except BaseException:
        with trio.CancelScope(shield=True):
            await session.leases.release()
        raise
    session.attached = True


async def shield_torn_by_its_deadline(session: Session) -> None:
    await session.leases.acquire()
    try:
        await session.handshake()
    except BaseException:
        with trio.move_on_after(1, shield=True):
            await session.leases.release()
        raise
    session.attached = True


async def checkpoint_after_commit(session: Session) -> None:
    await correct(session)
    await trio.lowlevel.checkpoint()


async def double_release(session: Session) -> None:
    try:
        await correct(session)
    except BaseException:
        await session.settle()
        raise


async def swallows(session: Session) -> None:
    with contextlib.suppress(trio.Cancelled):
        await correct(session)


async def hangs(session: Session) -> None:
    await session.leases.acquire()
    await trio.sleep_forever()


async def hangs_when_cancelled(session: Session) -> None:
    try:
        await correct(session)
    except BaseException:
        with trio.CancelScope(shield=True):
            await trio.Event().wait()
        raise


async def never_settles(_session: Session) -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def never_settles_when_cancelled(session: Session) -> None:
    try:
        await correct(session)
    except BaseException:
        await spin()
        raise


async def spin() -> None:
    """Catch every cancel, for ever."""
    while True:
        with contextlib.suppress(trio.Cancelled):
            await trio.lowlevel.checkpoint()


def resuming(resume: Resume, leases: type[Leases] = Leases, *, ports: bool = False) -> Scenario:
    """Make the scenario that resumes one session and expects it to be settled."""

    async def body(trial: Trial) -> None:
        server = leases()
        session = Session(trial.port(server, "leases") if ports else server)
        outcome = await trial.operation(resume, session)
        expected = 1 if session.attached else 0
        assert outcome.returned == session.attached, f"{outcome.kind}, but attached is {session.attached}"
        assert server.out == expected or session.fenced, f"{server.out} leases are out, and {expected} should be"

    return scenario(body)
