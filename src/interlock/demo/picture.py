"""The timeline as a picture: what was said and heard, who carried the session, and the states of its machines.

All of it on one axis of seconds. A state that is too short for its name has it below.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from interlock.demo.evidence import DELTAS, Evidence, Moved, Received, moves
from interlock.demo.hearing import AUDIO
from interlock.demo.recordings import RATE
from interlock.demo.script import Utterance
from interlock.demo.shapes import area, document, line, rect, text, width_of

LEFT, RIGHT, WIDTH, TOP = 112.0, 40.0, 1500.0, 78.0
BAR, LANE = 24.0, 54.0
SMALL, NEAR = 8.5, 30.0
SPOKEN_HZ: Final = 24_000
USER, FIRST, SECOND, CUT = "#4b5563", "#2563eb", "#c2410c", "#b91c1c"
COLOURS: Final = {
    "OPEN": "#bbf7d0",
    "ATTACHED": "#bbf7d0",
    "COMPLETED": "#bbf7d0",
    "GENERATING": "#bfdbfe",
    "DRAINING": "#dbeafe",
    "ACTIVATING": "#fde68a",
    "REPLAYING": "#fcd34d",
    "DETACHED": "#fecaca",
    "CANCELLING": "#fecaca",
    "RETAINED": "#fca5a5",
}
ELSE: Final = "#e5e7eb"
FINAL: Final = frozenset({"CLOSED", "COMPLETED", "CANCELLED", "FAILED"})


class Span(NamedTuple):
    """A stretch of time with a name: a state, or a connection."""

    start: float
    end: float
    name: str
    cause: str = ""


class Scale(NamedTuple):
    """From seconds to x."""

    seconds: float

    def x(self, at: float) -> float:
        """Return where a moment is."""
        return LEFT + min(max(at, 0.0), self.seconds) / self.seconds * (WIDTH - LEFT - RIGHT)


def save(path: Path, evidence: Evidence, utterances: Sequence[Utterance], offset: float) -> None:
    """Draw, and write it. ``offset`` is the demo's clock minus the server's."""
    path.write_text(draw(evidence, utterances, offset), encoding="utf-8")


def draw(evidence: Evidence, utterances: Sequence[Utterance], offset: float) -> str:
    """Return the picture as SVG."""
    moved = [move._replace(at=move.at + offset) for move in moves(evidence.trace)]
    scale = Scale(max([r.at for r in evidence.received] + [move.at for move in moved]) + 0.3)
    lanes: list[tuple[str, Iterable[str]]] = [
        ("user", _said(scale, utterances)),
        ("reply heard", _replies(scale, evidence)),
        ("client A", _client(scale, evidence, "A", FIRST, moved)),
        ("client B", _client(scale, evidence, "B", SECOND, moved)),
        ("attachment", _states(scale, moved, "attachment")),
        ("response", _states(scale, moved, "response")),
        ("fence", _states(scale, moved, "fence")),
        ("session", _states(scale, moved, "session")),
    ]
    height = TOP + LANE * len(lanes) + 24
    elements = [*_axis(scale, height), *_moments(scale, evidence, moved, height)]
    for number, (name, drawn) in enumerate(lanes):
        y = TOP + LANE * number
        elements.append(text(12, y + BAR / 2 + 4, name, 12, font_weight="bold"))
        elements.append(f"<g transform='translate(0 {y:g})'>" + "".join(drawn) + "</g>")
    return document(WIDTH, height, elements, "A session, interrupted, torn, resumed, taken over, and closed")


# ------------------------------------------------------------------------------------------------------------ frame


def _axis(scale: Scale, height: float) -> Iterator[str]:
    yield text(12, 22, "One session: interrupted, torn, resumed, taken over, closed", 15, font_weight="bold")
    for second in range(int(scale.seconds) + 1):
        x = scale.x(second)
        yield line(x, TOP - 14, x, height - 16, "#f3f4f6")
        yield text(x, height - 4, f"{second} s", 9, "#6b7280", text_anchor="middle")


def _moments(scale: Scale, evidence: Evidence, moved: Sequence[Moved], height: float) -> Iterator[str]:
    """Mark what happens to a reply."""
    claims = [m.at for m in moved if m.machine == "attachment" and m.cause == "ResumeRequested"]
    marks = [(m.at, "barge-in") for m in moved if m.cause == "ResponseInterrupted" and m.key == evidence.cancelled]
    marks += [(m.at, "connection torn") for m in moved if m.machine == "attachment" and m.cause == "TransportLost"]
    marks += [(at, "taken over") for at in claims[-1:]]
    marks += [(evidence.killed_at, "worker killed")] if evidence.killed is not None else []
    for at, name in marks:
        x = scale.x(at)
        yield line(x, 48, x, height - 16, CUT, stroke_dasharray="4 3")
        yield text(x, 43, f"{name}, {at:.2f} s", 11, CUT, text_anchor="middle")


# ------------------------------------------------------------------------------------------------------------ sound


def _said(scale: Scale, utterances: Sequence[Utterance]) -> Iterator[str]:
    for said in utterances:
        yield _wave(scale, said.start, said.recording.pcm, RATE, USER)
        yield text(scale.x(said.start), BAR + 14, said.recording.words, 10, USER)


def _replies(scale: Scale, evidence: Evidence) -> Iterator[str]:
    """Draw each reply as a client plays it: gaplessly from its first frame on, and no longer than it may."""
    for number, turn in enumerate(evidence.turns, 1):
        of_it = [r for r in evidence.heard if r.response_id == turn.response_id]
        frames = [r for r in of_it if r.kind == AUDIO]
        if not frames:
            continue
        stopped = turn.response_id == evidence.cancelled
        end = next(r.at for r in of_it if r.kind == "response.done") if stopped else float("inf")
        yield from _reply(scale, frames, end)
        yield text(scale.x(frames[0].at), BAR + 14, f"reply {number}{', stopped' if stopped else ''}", 10, USER)


def _reply(scale: Scale, frames: Sequence[Received], end: float) -> Iterator[str]:
    """Draw frames by the client that got them; what a stopped reply has left is not played."""
    at = frames[0].at
    for client, colour in (("A", FIRST), ("B", SECOND)):
        pcm = b"".join(base64.b64decode(r.event["delta"]) for r in frames if r.client == client)
        playable = min(len(pcm) / 2 / SPOKEN_HZ, max(end - at, 0.0))
        if pcm and playable:
            yield _wave(scale, at, pcm[: int(playable * SPOKEN_HZ) * 2], SPOKEN_HZ, colour)
        at += playable


def _wave(scale: Scale, start: float, pcm: bytes, rate: int, colour: str) -> str:
    """Draw the envelope of PCM16, one point each 20 ms."""
    samples, step = array("h", pcm[: len(pcm) // 2 * 2]), rate // 50
    peaks = [max(map(abs, samples[cut : cut + step])) / 32768 for cut in range(0, len(samples), step)]
    loudest = max(peaks, default=0.0) or 1.0
    points = [(scale.x(start + n / 50), max(peak / loudest * BAR / 2, 0.5)) for n, peak in enumerate(peaks)]
    return area(points, BAR / 2, colour)


# ---------------------------------------------------------------------------------------------------------- clients


def connections(moved: Sequence[Moved]) -> list[Span]:
    """Return the stretches for which a transport carried the session, each with how it ended; the last one is B's."""
    spans: list[Span] = []
    for move in (m for m in moved if m.machine == "attachment"):
        if spans and spans[-1].end == float("inf") and move.end in ("ACTIVATING", "DETACHED", "ROLLED_BACK", "CLOSED"):
            how = {"ACTIVATING": "session.replaced", "CLOSED": "session.closed"}.get(move.end, "torn")
            spans[-1] = spans[-1]._replace(end=move.at, cause=how)
        if move.end == "ACTIVATING":
            spans.append(Span(move.at, float("inf"), "opened" if move.cause == "Opened" else "resumed"))
    return spans


def _client(scale: Scale, evidence: Evidence, name: str, colour: str, moved: Sequence[Moved]) -> Iterator[str]:
    """Draw a client's connections, and a tick for each delta that it read."""
    spans = connections(moved)
    for span in spans[:-1] if name == "A" else spans[-1:]:
        start, end = scale.x(span.start), scale.x(span.end)
        yield rect(start, 0, end - start, BAR, "#eff6ff" if name == "A" else "#fff7ed", stroke=colour)
        began = "takes over" if name == "B" else span.name
        is_tight = width_of(began + span.cause, 10) > end - start
        yield text(start, BAR + 12, began, 10, colour)
        yield text(end, BAR + (23 if is_tight else 12), span.cause, 10, CUT, text_anchor="end")
    for received in evidence.heard:
        if received.client == name and received.kind in DELTAS:
            x = scale.x(received.at)
            yield line(x, 4, x, BAR - 4, colour, stroke_width=0.8, stroke_opacity=0.6)


# ----------------------------------------------------------------------------------------------------------- states


def spans_of(moved: Sequence[Moved], machine: str, until: float) -> Iterator[Span]:
    """Yield the states of a machine's instances, each instance in its order. A final state has no length."""
    keys = dict.fromkeys(move.key for move in moved if move.machine == machine)
    for number, key in enumerate(keys, 1):
        own = [move for move in moved if (move.machine, move.key) == (machine, key)]
        prefix = "" if key == "" else f"{number} "
        if own[0].start:
            yield Span(0.0, own[0].at, prefix + own[0].start)
        for move, after in zip(own, [*own[1:], None], strict=True):
            end = move.at if move.end in FINAL else after.at if after is not None else until
            yield Span(move.at, end, prefix + move.end, move.cause)


def _states(scale: Scale, moved: Sequence[Moved], machine: str) -> Iterator[str]:
    short: list[tuple[float, str]] = []
    for span in spans_of(moved, machine, scale.seconds):
        x, width = scale.x(span.start), max(scale.x(span.end) - scale.x(span.start), 2.0)
        state = span.name.rpartition(" ")[2]
        tip = f"{span.name} {span.start:.3f} s {span.cause}"
        yield rect(x, 0, width, BAR, COLOURS.get(state, ELSE), tip, stroke="#9ca3af")
        fitting = [name for name in (span.name, state) if width > width_of(name, 10) + 4]
        if fitting:
            yield text(x + 4, BAR / 2 + 4, fitting[0], 10)
        elif span.start:
            short.append((x, state))
    yield from _below(clusters(short))


def clusters(short: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Join the names of states that are too close together to be told apart."""
    joined: list[tuple[float, str]] = []
    last = float("-inf")
    for x, name in short:
        if x - last < NEAR:
            joined[-1] = (joined[-1][0], f"{joined[-1][1]}, {name}")
        else:
            joined.append((x, name))
        last = x
    return joined


def _below(labels: Sequence[tuple[float, str]]) -> Iterator[str]:
    """Write names under their bars; one that would touch the name before it goes a line lower."""
    free, row = 0.0, 0
    for x, words in labels:
        start = min(x, WIDTH - 4 - width_of(words, SMALL))
        row = 1 - row if start < free else 0
        free = start + width_of(words, SMALL)
        yield text(start, BAR + 11 + 10 * row, words, SMALL, "#6b7280")
