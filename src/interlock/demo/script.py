"""The scenario: four turns of a user, two clients, and everything that the network and the user may do to a reply.

The microphone never rests: it sends silence between two sentences, as a real one does, and whatever it says while the
line is gone is lost, as on a real one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple

import trio

from interlock.demo.evidence import Event, Received
from interlock.demo.recordings import RATE, Recording
from interlock.demo.strike import Striker
from interlock.demo.timeline import Timeline
from interlock.errors import WorldError
from interlock.transport.client import Client, Credentials, open_client
from interlock.transport.client_errors import ConnectionLost, ResyncRequired, SessionOver

AUDIO: Final = "response.output_audio.delta"
SESSION: Final[Mapping[str, Any]] = {"input_audio_format": {"type": "audio/pcm", "rate": RATE}}
FRAME_S: Final = 0.02
FRAME_BYTES: Final = round(RATE * FRAME_S) * 2
LISTEN_S: Final = 0.3
"""So much of a reply is heard before something happens to it."""
OFFLINE_S: Final = 0.3
"""How long a client has no line; what is sequenced meanwhile, it has to get afterwards."""
WAIT_S: Final = 20.0
CLAIMS: Final = 10
"""How often the second client may come too late."""
TOLD: Final = frozenset({"response.created", "response.done", "session.closed", "session.replaced", "error"})


class Utterance(NamedTuple):
    """What the user said, and when, in seconds of the demo."""

    start: float
    end: float
    recording: Recording


class Played(NamedTuple):
    """What came of it, as the clients saw it."""

    received: Sequence[Received]
    utterances: Sequence[Utterance]
    replies: Sequence[str]
    """The response of each turn, in order."""
    handed_over: int
    duplicates: int
    parted: str
    """How the superseded client's connection ended."""
    ended: Mapping[str, str]
    killed_at: float
    """When the worker was killed, in seconds of the demo; 0 when it was not."""


class Microphone:
    """Streams in real time to whichever client has it."""

    def __init__(self, timeline: Timeline, *, commits: bool = False) -> None:
        """``commits`` ends each utterance by hand, for stages that detect no end of speech."""
        self.client: Client | None = None
        self.utterances: list[Utterance] = []
        self._timeline = timeline
        self._commits = commits
        self._frames: deque[bytes] = deque()

    def speak(self, recording: Recording) -> None:
        """Say something, from the next frame on."""
        start = self._timeline.now()
        self.utterances.append(Utterance(start, start + recording.seconds, recording))
        self._timeline.say("user", f'says "{recording.words}"')
        cuts = range(0, len(recording.pcm), FRAME_BYTES)
        self._frames.extend(recording.pcm[cut : cut + FRAME_BYTES].ljust(FRAME_BYTES, b"\0") for cut in cuts)

    async def run(self) -> None:
        """Send a frame every 20 ms, for ever."""
        due = trio.current_time()
        while True:
            due += FRAME_S
            await trio.sleep_until(due)
            if self.client is not None:
                await self._send(self.client)

    async def _send(self, client: Client) -> None:
        spoken = bool(self._frames)
        frame = self._frames.popleft() if spoken else bytes(FRAME_BYTES)
        try:
            await client.append(frame)
            if self._commits and spoken and not self._frames:
                await client.commit()
        except (ConnectionLost, SessionOver):
            return


class Heard:
    """Everything that was received, and whoever waits for more."""

    def __init__(self, timeline: Timeline) -> None:
        self.received: list[Received] = []
        self._timeline = timeline
        self._changed = trio.Event()

    def note(self, client: str, connection: int, event: Event) -> None:
        """Keep one event."""
        received = Received(self._timeline.now(), client, connection, event)
        if received.kind == AUDIO and not any(r.response_id == received.response_id for r in self._audio()):
            self._timeline.say(f"client {client}", "hears the reply begin")
        self.received.append(received)
        if sentence := told(received):
            self._timeline.say(f"client {client}", sentence)
        self._changed.set()
        self._changed = trio.Event()

    def _audio(self) -> Iterator[Received]:
        return (r for r in reversed(self.received) if r.kind == AUDIO)

    async def until(self, what: str, matches: Callable[[Received], bool], start: int = 0) -> int:
        """Return the index of the first match from ``start`` on. Raises :class:`WorldError` when none comes."""
        with trio.move_on_after(WAIT_S):
            while True:
                for index in range(start, len(self.received)):
                    if matches(self.received[index]):
                        return index
                start = len(self.received)
                await self._changed.wait()
        last = self.received[-1].kind if self.received else "nothing"
        raise WorldError(f"no {what} came within {WAIT_S:g} s; the last that came was {last}")


class Listener:
    """Reads one client to the end of its session. When the line is gone, it comes back a little later."""

    def __init__(self, name: str, client: Client, heard: Heard, timeline: Timeline) -> None:
        self.name = name
        self.client = client
        self.connection = 1
        self._heard = heard
        self._timeline = timeline

    async def run(self) -> None:
        """Read to the end."""
        while not self.client.ended:
            try:
                async for event in self.client:
                    self._heard.note(self.name, self.connection, event)
            except ConnectionLost:
                await self._come_back()

    async def _come_back(self) -> None:
        self._say(f"the line is gone ({self.client.lost}); it has everything up to {self.client.position}")
        await trio.sleep(OFFLINE_S)
        await self.client.resume()
        self.connection += 1
        self._say(f"resumed from {self.client.position}, as generation {self.client.attachment_generation}")

    def _say(self, what: str) -> None:
        self._timeline.say(f"client {self.name}", what)


class Play:
    """The scenes, in order. :meth:`run` plays them all."""

    def __init__(
        self,
        url: str,
        recordings: Sequence[Recording],
        timeline: Timeline,
        *,
        commits: bool = False,
        striker: Striker | None = None,
    ) -> None:
        self.url = url
        self.striker = striker
        self.killed_at = 0.0
        self.recordings = recordings
        self.timeline = timeline
        self.mic = Microphone(timeline, commits=commits)
        self.heard = Heard(timeline)
        self.replies: list[str] = []
        self.opened: Callable[[], None] = lambda: None
        """Called when the first client has its credentials."""

    async def run(self) -> Played:
        """Play it. Raises :class:`WorldError` when something that has to come does not."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.mic.run)
            async with open_client(self.url, SESSION) as first:
                self.opened()
                self.timeline.say("client A", f"opened {first.session_id[:12]}..., as generation 1")
                self._enter(nursery, "A", first)
                await self.hear_a_whole_reply()
                await self.talk_over_a_reply()
                await self.tear_in_mid_reply(first)
                if self.striker is not None:
                    await self.kill_in_mid_reply(self.striker)
                played = await self.take_over_in_mid_reply(nursery, first)
            nursery.cancel_scope.cancel()
        return played

    def _enter(self, nursery: trio.Nursery, name: str, client: Client) -> None:
        self.mic.client = client
        nursery.start_soon(Listener(name, client, self.heard, self.timeline).run)

    async def hear_a_whole_reply(self) -> None:
        """Say something, and hear what comes back to the end."""
        self.mic.speak(self.recordings[0])
        await self._done(await self._reply())

    async def talk_over_a_reply(self) -> None:
        """Speak again while the next reply is playing. It stops."""
        self.mic.speak(self.recordings[1])
        response_id = await self._playing()
        self.mic.speak(self.recordings[2])
        await self._done(response_id)

    async def tear_in_mid_reply(self, first: Client) -> None:
        """Reset the connection while the answer to that is playing. The listener resumes, and hears it to the end."""
        response_id = await self._playing()
        self.timeline.say("client A", "its connection is torn: RST, no goodbye")
        first.tear()
        await self._done(response_id)

    async def kill_in_mid_reply(self, striker: Striker) -> None:
        """Kill the process that is speaking. That reply fails; the session goes on, and the next turn is answered."""
        self.mic.speak(self.recordings[3])
        response_id = await self._playing()
        killed = await striker.kill()
        self.killed_at = self.timeline.now()
        self.timeline.say("worker", f"{killed.stage}, process {killed.pid}, is killed: SIGKILL")
        await self._done(response_id)
        self.mic.speak(self.recordings[4])
        revived = await striker.until_ready()
        self.timeline.say("worker", f"{revived.stage} is ready again, process {revived.pid}")
        await self._done(await self._reply())

    async def take_over_in_mid_reply(self, nursery: trio.Nursery, first: Client) -> Played:
        """Let a second client take the session over; it hears the rest, and closes."""
        self.mic.speak(self.recordings[-1])
        response_id = await self._playing()
        async with AsyncExitStack() as stack:
            handed, second = await self._claimed(stack, first)
            took = f"took over from {handed.position}, as generation {second.attachment_generation}"
            self.timeline.say("client B", took)
            self._enter(nursery, "B", second)
            await self._done(response_id)
            self.mic.client = None
            await second.close()
            await self.heard.until("session.closed", lambda r: r.kind == "session.closed")
            await self._parted(first, second)
        duplicates = first.duplicates + second.duplicates
        ended = {"A": first.ended, "B": second.ended}
        return Played(
            self.heard.received,
            self.mic.utterances,
            self.replies,
            handed.position,
            duplicates,
            parting(first),
            ended,
            self.killed_at,
        )

    async def _claimed(self, stack: AsyncExitStack, first: Client) -> tuple[Credentials, Client]:
        """Open the second client with what the first one has now.

        The first one goes on reading and acking until it is replaced: if it acks past the position that it handed
        over before the claim arrives, the server says so, and what it has by then is handed over instead.
        """
        for _ in range(CLAIMS):
            handed = first.credentials
            try:
                return handed, await stack.enter_async_context(open_client(self.url, credentials=handed))
            except ResyncRequired:
                continue
        raise WorldError(f"the second client came too late {CLAIMS} times")

    async def _parted(self, *clients: Client) -> None:
        """Wait until the server has closed these connections, as it said."""
        with trio.move_on_after(WAIT_S):
            while not all(client.lost for client in clients):  # noqa: ASYNC110 - a client has no event for it
                await trio.sleep(FRAME_S)

    async def _reply(self) -> str:
        """Wait for the response to the next turn."""
        known = set(self.replies)
        index = await self.heard.until(
            "response.created", lambda r: r.kind == "response.created" and r.response_id not in known
        )
        self.replies.append(self.heard.received[index].response_id)
        return self.replies[-1]

    async def _playing(self) -> str:
        """Wait until a little of the next reply has been heard."""
        response_id = await self._reply()
        await self.heard.until("audio of the reply", lambda r: r.kind == AUDIO and r.response_id == response_id)
        await trio.sleep(LISTEN_S)
        return response_id

    async def _done(self, response_id: str) -> None:
        await self.heard.until("response.done", lambda r: r.kind == "response.done" and r.response_id == response_id)


def told(received: Received) -> str:
    """Return what a person wants to read of an event; nothing for most."""
    event = received.event
    match received.kind:
        case "conversation.item.input_audio_transcription.completed":
            return f'reads that it was understood as "{event["transcript"]}"'
        case "response.done":
            reason = f", {event['reason']}" if event.get("reason") else ""
            return f"reads response.done ({event['response']['status']}{reason})"
        case "error":
            return f"reads an error: {event['error']['code']}: {event['error']['message']}"
        case kind:
            return f"reads {kind}" if kind in TOLD or kind.startswith("input_audio_buffer.speech") else ""


def parting(client: Client) -> str:
    """Say how a client's last connection ended, in its server's words where there were any."""
    return f"closed with {client.close_code:d}" if client.close_code is not None else client.lost
