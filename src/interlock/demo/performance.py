"""One performance, from an empty folder to the evidence: start the server, play, stop it, gather what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import trio

from interlock.demo import hearing
from interlock.demo.evidence import Evidence, Turn, read_trace
from interlock.demo.recordings import Recording, save
from interlock.demo.script import Play, Played
from interlock.demo.server import Server, Stopped, serving
from interlock.demo.strike import Striker
from interlock.demo.timeline import Follower, Note, Timeline
from interlock.errors import ClientError, WorldError

SPOKEN_HZ: Final = 24_000
SETTLE_S: Final = 1.0
"""From ``session.closed`` to empty books: the last sockets are being closed."""
CANCELLED, TORN, FAILED, TAKEN_OVER = 1, 2, 3, -1
"""Which reply it happens to, counted from 0. The worker is killed in the fourth, if it is at all."""

Tell = Callable[[str], None]


class Performance(NamedTuple):
    """What there is when the server has stopped. ``offset`` is the demo's clock minus the server's."""

    played: Played
    books: Mapping[str, Any]
    stopped: Stopped
    notes: Sequence[Note]
    offset: float
    longest_stall_ms: float
    striker: Striker | None


def clear(out: Path) -> None:
    """Make the folder, and remove what an earlier demo wrote there; nothing else."""
    (out / "trace").mkdir(parents=True, exist_ok=True)
    for pattern in ("trace/trace-*.jsonl*", "reply-*.wav", "timeline.svg", "server.log"):
        for path in out.glob(pattern):
            path.unlink()


async def perform(
    out: Path,
    said: Sequence[Recording],
    tell: Tell,
    *,
    serve: Sequence[str] = (),
    commits: bool = False,
    kills: bool = False,
) -> Performance:
    """Play the scenario against a server of its own. ``serve`` are more options of it, ``commits`` is the microphone's.

    With ``kills``, the worker that speaks is killed in mid-reply.

    Raises :class:`WorldError` that says what went wrong.
    """
    tell("starting interlock serve")
    async with serving(out, serve, tell) as server:
        tell(f"it listens on {server.url}")
        await server.books()
        server.longest_stall_ms = 0.0  # what it took to load the models is not meant
        timeline = Timeline(tell)
        follower = Follower(out / "trace", timeline)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(timeline.run)
                nursery.start_soon(follower.run)
                striker = Striker(server) if kills else None
                play = Play(server.url, said, timeline, commits=commits, striker=striker)
                performance = await _play(server, play, follower)
                nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise _first(group, server) from group
        finally:
            follower.catch_up()
            timeline.release()
    return performance


async def _play(server: Server, play: Play, follower: Follower) -> Performance:
    say = play.timeline.say
    play.opened = follower.join
    played = await play.run()
    books = await _settled(server)
    say("books", ", ".join(f"{name} {books[name]}" for name in ("slots", "requests", "journal_bytes")))
    say("server", "gets SIGTERM")
    stopped = await server.stop()
    say("server", f"has stopped, with exit code {stopped.code}")
    notes, offset, stall_ms = play.timeline.notes, follower.offset, server.longest_stall_ms
    return Performance(played, books, stopped, notes, offset, stall_ms, play.striker)


async def _settled(server: Server) -> Mapping[str, Any]:
    """Read the books until they are empty, or for a second."""
    end = trio.current_time() + SETTLE_S
    while True:
        books = await server.books()
        if not books["slots"] + books["journal_bytes"] or trio.current_time() > end:
            return books
        await trio.sleep(0.02)


def _first(group: BaseExceptionGroup[BaseException], server: Server) -> BaseException:
    """Return the failure that a person can do something about, with the server's last words if it has ended."""
    leaf: BaseException = group
    while isinstance(leaf, BaseExceptionGroup):
        leaf = next((e for e in leaf.exceptions if not isinstance(e, trio.Cancelled)), leaf.exceptions[0])
    if not isinstance(leaf, WorldError | ClientError):
        return leaf
    ended = server.process.poll() is not None
    return WorldError(f"{leaf}; the server has ended{server.last_words()}" if ended else str(leaf))


def gather(out: Path, said: Sequence[Recording], performance: Performance) -> Evidence:
    """Put together what the clients and the server have to say."""
    played, stopped, striker = performance.played, performance.stopped, performance.striker
    return Evidence(
        received=played.received,
        trace=read_trace(out / "trace"),
        turns=[Turn(r.words, reply) for r, reply in zip(said, played.replies, strict=True)],
        cancelled=played.replies[CANCELLED],
        torn=played.replies[TORN],
        taken_over=played.replies[TAKEN_OVER],
        failed=played.replies[FAILED] if striker is not None else "",
        killed=striker.before if striker is not None else None,
        killed_at=played.killed_at,
        revived=striker.after if striker is not None else None,
        handed_over=played.handed_over,
        duplicates=played.duplicates,
        parted=played.parted,
        ended=played.ended,
        books=performance.books,
        stopped=stopped.books,
        stopped_code=stopped.code,
        longest_stall_ms=performance.longest_stall_ms,
    )


def listened(out: Path, evidence: Evidence, tell: Tell) -> Evidence:
    """Save each reply's audio, and let the models say which words are in it, or how long it would have been."""
    turns = []
    for number, turn in enumerate(evidence.turns, 1):
        pcm = hearing.audio_of(evidence.heard, turn.response_id)
        save(out / f"reply-{number}.wav", pcm, SPOKEN_HZ)
        if turn.response_id == evidence.cancelled:
            tell(f"reply {number}: how long would it have been?")
            turns.append(turn._replace(whole_ms=hearing.spoken_ms(hearing.text_of(evidence.heard, turn.response_id))))
        elif turn.response_id == evidence.failed:
            turns.append(turn)
        else:
            tell(f"reply {number}: which words are in it?")
            turns.append(turn._replace(recognised=hearing.recognised(pcm)))
    return replace(evidence, turns=turns)
