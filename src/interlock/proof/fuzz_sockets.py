"""The same schedules over real sockets: the served endpoint, its reader and writer, and clients that are rude in bytes.

Here the clock is the real one: a clock that jumps would fire deadlines while the network is still at work. So settings
are short, an event that lets time pass waits some hundredths of a second, and rest is when nothing has moved for some
milliseconds. A schedule is not reproducible to the step, as it is in memory; what it finds is tried again before it is
told.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

import trio
import trio.testing

from interlock.proof.fuzz import Ran, Target
from interlock.proof.fuzz_acts import ACTS, LOUD
from interlock.proof.fuzz_rest import wrong_at_the_end
from interlock.proof.fuzz_schedule import Schedule
from interlock.proof.fuzz_story import Link
from interlock.proof.fuzz_world import Client, World
from interlock.proof.judge import told
from interlock.proof.promises import judge_rest
from interlock.runtime.ports import TransportClosed
from interlock.session.settings import Settings
from interlock.transport.converse import converse
from interlock.transport.dial import dial
from interlock.transport.endpoint import serve_websockets
from interlock.transport.limits import SocketLimits
from interlock.transport.websocket import WebSocketTransport

SocketAct: TypeAlias = Callable[["SocketWorld", int], Awaitable[None]]

QUIET_S: Final = 0.003
"""Nothing has moved for so long: that is rest."""

SETTINGS: Final = Settings(
    write_bytes=4096, grace_s=0.4, cleanup_s=0.3, shutdown_s=0.6, abort_s=0.1, submit_s=0.2, reserve_s=0.2, evict_s=0.2,
    drain_s=0.3, write_s=0.4, prepare_s=0.5, idle_s=5.0,
)  # fmt: skip
LIMITS: Final = SocketLimits(close_s=0.2, handshake_s=2.0)
END_S: Final = 10.0
"""Real time that the end of a run may take; it is bounded by the settings above."""

AGAIN: Final = 2
"""So often a failure must come back before it is told."""

TIMES: Final = {"tick": 0.02, "second": 0.05, "ten_seconds": 0.15, "forty_seconds": 0.5}


class Line:
    """One connection of a client: its socket, and what it has heard."""

    def __init__(self, client: Client, link: Link, socket: WebSocketTransport) -> None:
        self.client = client
        self.link = link
        self.socket = socket
        self._reads = trio.Event()
        self._reads.set()

    async def read(self) -> None:
        """Read until the connection ends, except while it stalls."""
        while (data := await self.socket.receive()) is not None:
            self.link.frames.append(data)
            await self._reads.wait()
        self.link.tear()

    def stall(self) -> None:
        """Read nothing more."""
        if self._reads.is_set():
            self._reads = trio.Event()

    def allow(self) -> None:
        """Read again."""
        self._reads.set()


class SocketWorld(World):
    """A host behind a listening socket."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule)
        self.host.settings = SETTINGS
        self.ledger.leapt_at = float("inf")  # the real clock is late whenever it likes
        self.lines: list[Line] = []
        self.port = 0

    async def play(self) -> None:
        """Let everything happen, then bring it all to its end, within its bounds."""
        with trio.move_on_after(END_S + len(self.schedule.events)) as limit:
            async with trio.open_nursery() as self.nursery:
                await self.nursery.start(self._hosted)
                serve = functools.partial(serve_websockets, self._converse, "127.0.0.1", 0, limits=LIMITS)
                self.port = await self.nursery.start(serve)
                for event in self.schedule.events:
                    await self._one(event.act, event.pick)
                    if event.haste == 0:
                        await self.rest()
                await self._end()
                self.nursery.cancel_scope.cancel()
        if limit.cancelled_caught:
            self.broken.append("promise 1: the host and its sockets do not come to their end")

    async def _one(self, act: str, pick: int) -> None:
        if act in SOCKET_ACTS:
            await SOCKET_ACTS[act](self, pick)
        elif act in TIMES:
            await trio.sleep(TIMES[act])
        elif act in ACTS:
            ACTS[act](self, pick)

    async def rest(self, *, whole: bool = False) -> None:
        """Wait until nothing has moved for a while, and ask."""
        await trio.testing.wait_all_tasks_blocked(QUIET_S)
        self._ask()

    def _ask(self) -> None:
        for link in self.links:
            link.listen(self.ledger)
        for driver in self.host.drivers.values():
            self.broken.extend(f"{sentence} (at rest)" for sentence in judge_rest(driver))

    async def _end(self) -> None:
        await self.rest()
        for line in self.lines:
            line.allow()
        for name, stage in self.fleet.stages.items():
            if stage.condition == "lost":
                self.fleet.gone(name)
        await self.host.shutdown()
        await trio.testing.wait_all_tasks_blocked(QUIET_S)
        self._ask()
        self.broken.extend(wrong_at_the_end(self))

    async def _converse(self, transport: WebSocketTransport) -> None:
        await converse(self.host, transport)

    async def connect(
        self, client: Client, first: dict[str, Any] | None, position: int = 0, where: str = "duplex"
    ) -> None:
        """Dial, and say the first message, if there is one to say."""
        try:
            socket = await dial(f"ws://127.0.0.1:{self.port}/v1/{where}", LIMITS)
            line = Line(client, self.link(float("inf"), client, position), socket)
            self.lines.append(line)
            self.nursery.start_soon(self._keep, line)
            if first is not None:
                await socket.send([json.dumps(first).encode()])
        except (TransportClosed, OSError):
            return

    async def _keep(self, line: Line) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(line.socket.keep)
            try:
                await line.read()
            finally:
                line.socket.abort("over")

    def line_of(self, pick: int) -> Line | None:
        """Choose a connection, the latest of a client."""
        client = self.client(pick)
        return next((line for line in reversed(self.lines) if line.client is client), None)


async def _open(world: SocketWorld, pick: int) -> None:
    client = Client()
    world.clients.append(client)
    await world.connect(client, {"type": "session.update", "session": {}})


async def _open_strict(world: SocketWorld, pick: int) -> None:
    client = Client()
    world.clients.append(client)
    await world.connect(client, None, where="realtime")


def _resume_strict(token: Callable[[list[str]], str], position: int = -1) -> SocketAct:
    async def act(world: SocketWorld, pick: int) -> None:
        client = world.client(pick)
        if client is None or client.story is None:
            return
        place = client.position if position < 0 else position
        words = {"session_id": client.session_id, "resume_token": token(client.story.tokens)}
        query = urlencode(words | {"last_received_server_event_seq": place})
        await world.connect(client, None, place, f"realtime?{query}")

    return act


def _resume(token: Callable[[list[str]], str], position: int = -1) -> SocketAct:
    async def act(world: SocketWorld, pick: int) -> None:
        client = world.client(pick)
        if client is None or client.story is None:
            return
        place = client.position if position < 0 else position
        words = {"session_id": client.session_id, "resume_token": token(client.story.tokens)}
        first = {"type": "session.resume", **words, "last_received_server_event_seq": place}
        await world.connect(client, first, place)

    return act


def _say(*messages: dict[str, Any]) -> SocketAct:
    return _write(lambda line: [json.dumps(message).encode() for message in messages])


def _write(frames: Callable[[Line], list[bytes]]) -> SocketAct:
    async def act(world: SocketWorld, pick: int) -> None:
        line = world.line_of(pick)
        if line is not None:
            try:
                await line.socket.send(frames(line))
            except TransportClosed:
                return

    return act


def _do(what: Callable[[Line], object]) -> SocketAct:
    async def act(world: SocketWorld, pick: int) -> None:
        line = world.line_of(pick)
        if line is not None:
            what(line)

    return act


def _ack(line: Line) -> list[bytes]:
    position, generation = line.client.position, line.link.generation
    said = {"type": "session.event_ack", "server_event_seq": position, "attachment_generation": generation}
    return [json.dumps(said).encode()]


def _truncate(line: Line) -> list[bytes]:
    heard = line.client.story.heard.values() if line.client.story is not None else ()
    named = [event.response_id for event in heard if event.response_id] or ["resp_none"]
    cut = {"type": "conversation.item.truncate", "item_id": f"item_{named[-1]}", "audio_end_ms": 40}
    return [json.dumps(cut).encode()]


async def _garbage(world: SocketWorld, pick: int) -> None:
    words = (b"{", b'{"type": 5}', b'{"type": "response.cancel", "response_id": 7}', b"\x00\xff", b"[]")
    await _write(lambda _: [words[pick % len(words)]])(world, pick)


def _audio() -> dict[str, str]:
    import base64

    return {"type": "input_audio_buffer.append", "audio": base64.b64encode(LOUD).decode()}


WRITTEN: Final = {
    "type": "conversation.item.create",
    "item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "say it again"}]},
}
COMMIT: Final = {"type": "input_audio_buffer.commit"}

SOCKET_ACTS: Final[dict[str, SocketAct]] = {
    "open": _open,
    "resume": _resume(lambda tokens: tokens[-1]),
    "resume_presented": _resume(lambda tokens: tokens[-2:][0]),
    "resume_wrong": _resume(lambda tokens: "wrong"),
    "resume_from_0": _resume(lambda tokens: tokens[-1], 0),
    "resume_ahead": _resume(lambda tokens: tokens[-1], 1_000_000),
    "open_strict": _open_strict,
    "resume_strict": _resume_strict(lambda tokens: tokens[-1]),
    "resume_strict_presented": _resume_strict(lambda tokens: tokens[-2:][0]),
    "resume_strict_wrong": _resume_strict(lambda tokens: "wrong"),
    "resume_strict_from_0": _resume_strict(lambda tokens: tokens[-1], 0),
    "resume_strict_ahead": _resume_strict(lambda tokens: tokens[-1], 1_000_000),
    "write": _say(WRITTEN, {"type": "response.create"}),
    "truncate": _write(_truncate),
    "turns_by_hand": _say({"type": "session.update", "session": {"turn_detection": None}}),
    "tear": _do(lambda line: line.socket.abort("torn")),
    "stall": _do(lambda line: line.stall()),
    "allow": _do(lambda line: line.allow()),
    "speak": _say(_audio(), COMMIT),
    "append": _say(_audio()),
    "commit": _say(COMMIT),
    "barge_in": _say({"type": "barge_in"}),
    "cancel": _say({"type": "response.cancel"}),
    "create": _say({"type": "response.create"}),
    "clear_input": _say({"type": "input_audio_buffer.clear"}),
    "heartbeat": _say({"type": "session.heartbeat"}),
    "playback_ack": _say({"type": "playback.ack", "played_ms": 40}),
    "close": _say({"type": "session.close"}),
    "ack": _write(_ack),
    "garbage": _garbage,
}
"""What clients do over a socket; stages do what they do in memory."""

STAGE_ACTS: Final = tuple(name for name in ACTS if name in {
    "submit_hangs", "submit_refuses", "abort_hangs", "abort_refuses", "answers_late", "never_ends", "heal", "audio",
    "burst", "calls", "hears", "understands", "finish_request", "fail_request", "ghost", "lose", "gone", "come_back",
})  # fmt: skip


def run_sockets(schedule: Schedule) -> Ran:
    """Run a schedule over sockets; what is broken once must be broken again, to be told."""
    ran = _once(schedule)
    for _ in range(AGAIN - 1):
        if ran.broken:
            ran = _once(schedule)
    return ran


def _once(schedule: Schedule) -> Ran:
    world = SocketWorld(schedule)
    try:
        trio.run(world.play)
    except ExceptionGroup as error:  # around the whole run: no cancel comes out here, and Ctrl-C is no Exception
        world.broken.append(f"the runtime has failed: {told(error)}")
    return Ran(tuple(world.broken), frozenset(world.ledger.rows))


OFTEN: Final = (("speak", 5), ("open", 2), ("resume", 4), ("barge_in", 3), ("tick", 3), ("ack", 2), ("tear", 2))

SOCKETS: Final = Target(
    "sockets",
    (*SOCKET_ACTS, *STAGE_ACTS, *TIMES, "stop_host"),
    run_sockets,
    first="open",
    often=OFTEN,
    rarely=("stop_host", "close", "forty_seconds"),
)
