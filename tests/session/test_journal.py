"""Frames against a plain list: what is due, voided, trimmed, and where a mark may lie."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given, settings, strategies

from interlock.session.journal import Batch, Frames

Held: TypeAlias = tuple[int, int, float, bytes | None]
"""The model of a frame: number, epoch, time, bytes."""

MOVES = strategies.lists(
    strategies.one_of(
        strategies.tuples(strategies.just("append"), strategies.integers(0, 3), strategies.binary(max_size=9)),
        strategies.tuples(strategies.just("void"), strategies.integers(0, 3), strategies.just(b"")),
        strategies.tuples(strategies.just("trim"), strategies.integers(0, 40), strategies.just(b"")),
    ),
    max_size=40,
)


class Both:
    """The frames, and the list that they must agree with."""

    def __init__(self) -> None:
        self.frames = Frames()
        self.plain: list[Held] = []
        self.head = 0

    def append(self, epoch: int, data: bytes) -> None:
        self.head += 1
        self.frames.append(self.head, epoch, float(self.head), data)
        self.plain.append((self.head, epoch, float(self.head), data))

    def void(self, through: int) -> None:
        due = [held[0] for held in self.plain if held[3] is not None and 0 < held[1] <= through]
        assert list(self.frames.void(through)) == due
        self.plain = [(*held[:3], None) if held[0] in due else held for held in self.plain]

    def trim(self, through: int) -> None:
        self.frames.trim(through)
        self.plain = [held for held in self.plain if held[0] > through]

    def take(self, move: tuple[str, int, bytes]) -> None:
        name, number, data = move
        if name == "append":
            self.append(number, data)
        else:
            (self.void if name == "void" else self.trim)(number)
        assert self.frames.size == sum(len(held[3] or b"") for held in self.plain)
        assert len(self.frames) == len(self.plain)


def due_of(plain: list[Held], cursor: int, limit: int) -> Batch:
    found: list[bytes] = []
    for seq, _, _, data in plain:
        if seq <= cursor:
            continue
        if data is not None and found and sum(map(len, found)) + len(data) > limit:
            break
        found += [data] if data is not None else []
        cursor = seq
    return Batch(tuple(found), cursor)


@given(MOVES, strategies.integers(0, 45), strategies.integers(1, 30))
@settings(max_examples=400, deadline=None)
def test_frames_hold_what_a_list_holds_and_hand_out_what_is_due(
    moves: list[tuple[str, int, bytes]], cursor: int, limit: int
) -> None:
    both = Both()
    for move in moves:
        both.take(move)
        assert both.frames.due(cursor, limit) == due_of(both.plain, cursor, limit)


@given(MOVES, strategies.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_a_writer_that_takes_again_and_again_gets_each_frame_once(
    moves: list[tuple[str, int, bytes]], limit: int
) -> None:
    both = Both()
    for move in moves:
        both.take(move)
    got: list[bytes] = []
    cursor = 0
    for _ in range(len(moves) + 1):
        batch = both.frames.due(cursor, limit)
        assert batch.cursor >= cursor
        got, cursor = got + list(batch.frames), batch.cursor
    assert got == [held[3] for held in both.plain if held[3] is not None]


@given(MOVES, strategies.integers(0, 60), strategies.integers(0, 45), strategies.integers(0, 45))
@settings(max_examples=400, deadline=None)
def test_a_mark_makes_the_room_that_it_can_and_never_passes_what_was_handed(
    moves: list[tuple[str, int, bytes]], room: int, before: int, through: int
) -> None:
    both = Both()
    for move in moves:
        both.take(move)
    mark = both.frames.mark(room=room, before=before, through=through)
    kept = [held for held in both.plain if held[0] > mark]
    gone = [held for held in both.plain if held[0] <= mark]
    assert all(held[0] <= through for held in gone)
    if kept and kept[0][0] <= through:
        assert sum(len(held[3] or b"") for held in kept) <= room
        assert kept[0][2] >= before
    if gone:  # one less would not have been enough
        one_more = [gone[-1], *kept]
        assert sum(len(held[3] or b"") for held in one_more) > room or gone[-1][2] < before


def test_a_frame_that_could_not_be_made_leaves_a_void_number_and_no_shift() -> None:
    frames = Frames()
    frames.append(1, 0, 0.0, b"one")
    frames.append(4, 0, 1.0, b"four")
    frames.append(5, 0, 2.0, b"five")
    assert frames.due(1, 3) == Batch((b"four",), 4)
    assert frames.due(2, 100) == frames.due(3, 100) == Batch((b"four", b"five"), 5)
    assert frames.due(4, 100) == Batch((b"five",), 5)
    assert (frames.oldest_at, frames.void(9), frames.size) == (0.0, (), 11)


def test_lifecycle_frames_are_never_voided() -> None:
    frames = Frames()
    for seq, epoch in enumerate((0, 1, 0, 2, 1), 1):
        frames.append(seq, epoch, 0.0, b"x")
    assert frames.void(1) == (2, 5)
    assert frames.void(1) == ()
    assert frames.due(0, 100) == Batch((b"x", b"x", b"x"), 5)


def test_what_is_cleared_is_gone_and_numbers_go_on() -> None:
    frames = Frames()
    frames.append(1, 0, 0.0, b"x")
    frames.clear()
    assert (len(frames), frames.size, frames.due(0, 9)) == (0, 0, Batch((), 0))
    frames.append(2, 0, 0.0, b"y")
    assert frames.due(1, 9) == Batch((b"y",), 2)
