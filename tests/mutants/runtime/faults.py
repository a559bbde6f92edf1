"""One-line faults of the runtime, each with the one scenario of ours that shows it, and at which depth.

``old`` stands in its file, or the fault is stale and its test says so. ``equivalent`` says why no sweep can tell a
fault from the original; such a fault counts neither way.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """What is put in the place of what, and what should show it."""

    name: str
    file: str
    old: str
    new: str
    scenario: str
    depth: int = 1
    equivalent: str = ""


FAULTS = (
    Fault(
        "a rollback that a cancel does not reach",
        "runtime/writer.py",
        "        except BaseException as error:\n",
        "        except Exception as error:\n",
        "close_dies",
        2,
        equivalent="when the host's nursery is cancelled every session has its end, and no writer is live any more;"
        " what is left is KeyboardInterrupt, which no sweep injects",
    ),
    Fault(
        "a clean-up that a failure skips",
        "runtime/writer.py",
        "        finally:\n            self._end()\n",
        "        else:\n            self._end()\n",
        "reconnect",
    ),
    Fault(
        "a host whose shutdown is not shielded",
        "runtime/host.py",
        "with trio.CancelScope(shield=True):",
        "with trio.CancelScope():",
        "append",
    ),
    Fault(
        "a shutdown whose shield has no deadline",
        "runtime/host.py",
        "with trio.move_on_after(self.settings.shutdown_s):",
        "with trio.CancelScope():",
        "shutdown_dies",
    ),
    Fault(
        "a shutdown that its own deadline tears, and that leaves sessions without an end",
        "runtime/host.py",
        "        self._end_overdue()\n",
        "",
        "close_dies",
        2,
    ),
    Fault(
        "Cancelled is swallowed by the host",
        "runtime/host.py",
        "            raise cancelled\n",
        "            return\n",
        "append",
    ),
    Fault(
        "a checkpoint between commit and return, in the wait",
        "runtime/waiter.py",
        "            await trio.lowlevel.wait_task_rescheduled(abort)\n",
        "            await trio.lowlevel.wait_task_rescheduled(abort)\n            await trio.lowlevel.checkpoint()\n",
        "reconnect",
    ),
    Fault(
        "a checkpoint between commit and return, in open and in resume",
        "runtime/host.py",
        "        generation = await claim.wait()\n        return",
        "        generation = await claim.wait()\n        await trio.lowlevel.checkpoint()\n        return",
        "reconnect",
    ),
    Fault("a cancel that does not land", "runtime/waiter.py", "                landing()\n", "", "reconnect"),
    Fault(
        "a cancel that lands after its delivery",
        "runtime/waiter.py",
        "                landing()\n",
        "                trio.lowlevel.current_trio_token().run_sync_soon(landing)\n",
        "reconnect",
    ),
    Fault(
        "a landing that is not dispatched",
        "runtime/driver.py",
        '            self.dispatch(Cancelled("attachment", None, self.value.generation))\n',
        "            return\n",
        "reconnect",
    ),
    Fault(
        "an open that is given up and goes on",
        "runtime/driver.py",
        '            self.dispatch(Cancelled("session"))\n',
        "            return\n",
        "open",
    ),
    Fault(
        "a failed claim of which nobody is told",
        "runtime/acts.py",
        "            offer.waiter.fail(ClaimLost(effect.reason))\n",
        "            return\n",
        "reconnect",
    ),
    Fault(
        "the claim of a refused resume is kept",
        "runtime/acts.py",
        "        _answer(driver, driver.offers.pop(effect.claim), effect)\n",
        "        _answer(driver, driver.offers[effect.claim], effect)\n",
        "takeover",
    ),
    Fault(
        "a writer that stays after its end",
        "runtime/driver.py",
        "        self.deliveries.pop(delivery.generation, None)\n",
        "",
        "takeover",
    ),
    Fault(
        "a transport's close that the books never hear of",
        "runtime/driver.py",
        "        self.dispatch(TransportClosed(delivery.generation))\n",
        "",
        "takeover",
    ),
    Fault(
        "a lost transport that is not told",
        "runtime/delivery.py",
        "            self.driver.dispatch(m.TransportLost(self.generation, reason))\n",
        "            return\n",
        "reconnect",
    ),
    Fault(
        "a write that timed out counts as written",
        "runtime/writer.py",
        '            raise TransportClosed("write_timeout")\n',
        "            return\n",
        "reconnect",
    ),
    Fault(
        "an eviction without a deadline",
        "runtime/writer.py",
        "        self.scope.deadline = min(self.scope.deadline, trio.current_time() + seconds)\n",
        "        return\n",
        "half_dead",
    ),
    Fault(
        "a retired writer that nobody wakes",
        "runtime/delivery.py",
        "        self._within(within_s)\n        self.wake()\n",
        "",
        "takeover",
    ),
    Fault(
        "a dropped writer that goes on",
        "runtime/delivery.py",
        "        self._cut()\n        self.transport.abort(reason)\n",
        "        self.transport.abort(reason)\n",
        "detach",
    ),
    Fault(
        "a transport that is freed by its writer alone",
        "runtime/delivery.py",
        "        self._cut()\n        self.transport.abort(reason)\n",
        "        self._cut()\n",
        "takeover",
        equivalent="the cancelled writer aborts the transport in its `finally`, in the next pass of the loop; abort()"
        " is there for transports whose send does not heed a cancel, which a port in memory is not",
    ),
    Fault(
        "a late cancel of a preparation",
        "runtime/perform.py",
        "        if not scope.cancel_called:\n",
        "        if True:\n",
        "open",
        equivalent="a session that is CLOSING ignores Prepared and PrepareFailed by its table",
    ),
    Fault(
        "effects in the wrong order",
        "runtime/driver.py",
        "        for effect in decision.effects:\n",
        "        for effect in reversed(decision.effects):\n",
        "detach_dies",
    ),
    Fault(
        "a timer that is never disarmed",
        "runtime/perform.py",
        "            driver.host.deadlines.disarm(acts.timer_of(driver, effect))\n",
        "            return\n",
        "barge_in",
    ),
    Fault(
        "a deadline that moves forward and wakes nobody",
        "runtime/deadlines.py",
        "            self._sooner.set()\n",
        "            pass\n",
        "grace",
    ),
    Fault(
        "a grace clock that is armed once and not again",
        "runtime/acts.py",
        "    driver.host.deadlines.arm(timer_of(driver, effect), after)\n",
        "    if effect.event is not m.GraceExpired or driver.value.generation == 1:\n"
        "        driver.host.deadlines.arm(timer_of(driver, effect), after)\n",
        "reconnect",
    ),
    Fault(
        "a grace that never ends",
        "session/lease.py",
        "        grace_s=lambda data, _: data.grace_s,\n",
        '        grace_s=lambda data, _: float("inf"),\n',
        "grace",
    ),
    Fault(
        "an id that is dropped before its clean-up",
        "runtime/acts.py",
        "        link.abort((request_id,))\n",
        "        driver.dispatch(m.AbortConfirmed(request_id, link.incarnation))\n",
        "barge_in",
    ),
    Fault(
        "an id that is released by a failed clean-up",
        "runtime/hear.py",
        "            driver.dispatch(m.AbortFailed(reply.request_id, incarnation, reply.reason))\n",
        "            driver.dispatch(m.AbortConfirmed(reply.request_id, incarnation))\n",
        "barge_in_fails",
    ),
    Fault(
        "a clean-up that is forgotten when the worker is lost",
        "runtime/host.py",
        "            driver.dispatch(m.StageGone(stage, incarnation))\n",
        "            pass\n",
        "close_dies",
        equivalent="an id that is owed is tried again, and finds that its worker is gone: later, but for certain",
    ),
    Fault(
        "input that is given back twice",
        "runtime/hear.py",
        "        held.queued_bytes -= size\n",
        "",
        "append",
    ),
    Fault(
        "stale output is sequenced",
        "session/books.py",
        '        and event.epoch == value.epoch\n        and cell.state == "RUNNING"\n',
        "",
        "barge_in_hangs",
    ),
    Fault(
        "the epoch of an output is not asked for",
        "session/books.py",
        "        and event.epoch == value.epoch\n",
        "",
        "barge_in_late",
        equivalent="an interrupt takes every request of its epoch out of RUNNING in the same step, and that is"
        " asked for as well",
    ),
    Fault(
        "voided output is kept",
        "runtime/acts.py",
        "    freed = driver.frames.void(effect.through)\n",
        "    freed: tuple[int, ...] = ()\n",
        "barge_in",
    ),
    Fault(
        "any message proves the token",
        "session/books.py",
        "    if event.claimed == value.generation or event.position > credential.claim_head:\n",
        "    if True:\n",
        "unproved",
    ),
    Fault(
        "the presented token dies with the claim",
        "session/credential.py",
        "        return Credential(fresh, credential.current, head)\n",
        "        return Credential(fresh, None, head)\n",
        "reconnect",
    ),
    Fault(
        "a slot that is free while a stage still holds something",
        "session/value.py",
        'return self.state("session") != "CLOSED"',
        'return self.state("session") not in ("CLOSED", "QUARANTINED")',
        "close_hangs",
    ),
    Fault(
        "a session that is kept when nothing is left of it",
        "runtime/host.py",
        "                self.drivers.pop(driver.session_id, None)\n",
        "                pass\n",
        "close",
    ),
    Fault(
        "whoever waits for the books is not woken",
        "runtime/host.py",
        "        self.room.changed()\n",
        "",
        "shutdown",
    ),
    Fault(
        "a writer that is superseded and still takes frames",
        "runtime/driver.py",
        "        if generation != self.value.generation:\n",
        "        if False:\n",
        "half_dead",
        equivalent="a writer that is superseded is `evicted`, and leaves its loop before it takes again: two locks on"
        " one door",
    ),
)
