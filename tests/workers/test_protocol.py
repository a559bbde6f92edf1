"""Frames: what goes in comes out, however it was cut, and nothing else passes for it."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import WorldError
from interlock.runtime.ports import Aborted, AbortRefused, Accepted, Consumed, Failed, Finished, Output, Refused
from interlock.workers import protocol
from interlock.workers.protocol import (
    FRAME_BYTES,
    VERSION,
    Abort,
    Append,
    Beat,
    Cutter,
    Finish,
    Greeting,
    Hello,
    Order,
    Ready,
    Report,
    Stop,
    Submit,
    decode_order,
    decode_report,
    encode,
)

ORDERS: list[Order] = [
    Submit("r1", 3, {"voice": "alto", "rate": 1.5, "stops": ["a"], "seed": None}),
    Append("r1", bytes(range(256))),
    Finish("r1"),
    Abort(["r1", "r2"]),
    Stop(),
]

REPORTS: list[Report] = [
    Hello(VERSION, "think", 17),
    Ready(),
    Beat(),
    Accepted("r1"),
    Refused("r1", "full"),
    Output("r1", 3, "audio", b"\0\1" * 480, 40),
    Consumed("r1", 960),
    Finished("r1"),
    Failed("r1", "no"),
    Aborted("r1"),
    AbortRefused("r1", "busy"),
]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: type(order).__name__)
def test_an_order_comes_out_as_it_went_in(order: Order) -> None:
    (body,) = Cutter().feed(encode(order))
    assert decode_order(body) == order


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: type(report).__name__)
def test_a_report_comes_out_as_it_went_in(report: Report) -> None:
    (body,) = Cutter().feed(encode(report))
    assert decode_report(body) == report


@given(st.lists(st.integers(0, 400), max_size=30))
def test_a_stream_is_cut_into_the_same_frames_wherever_it_is_torn(tears: list[int]) -> None:
    stream = b"".join(encode(order) for order in ORDERS)
    cutter, bodies = Cutter(), list[bytes | memoryview]()
    for start, end in pairwise([0, *sorted(tears), len(stream)]):
        bodies += cutter.feed(stream[start:end] if start < end else b"")
    assert [decode_order(body) for body in bodies] == ORDERS
    assert cutter.is_between


def test_a_stream_that_ends_within_a_frame_is_known_to() -> None:
    cutter = Cutter()
    assert list(cutter.feed(encode(Stop())[:-1])) == []
    assert not cutter.is_between


@pytest.mark.parametrize("size", [0, FRAME_BYTES + 1, 2**32 - 1])
def test_a_length_that_no_frame_has_is_refused(size: int) -> None:
    with pytest.raises(WorldError, match=f"a frame of {size} bytes"):
        list(Cutter().feed(size.to_bytes(4, "big")))


def test_text_where_frames_belong_is_refused_at_its_first_four_bytes() -> None:
    with pytest.raises(WorldError, match="a frame of 1416128883 bytes"):
        list(Cutter().feed(b"This is a log line."))


@pytest.mark.parametrize(
    "body",
    [b"", b"\xc1", b"\x00", msgspec.msgpack.encode({"type": "Resume"}), msgspec.msgpack.encode({"type": "Append"})],
)
def test_a_body_that_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(WorldError, match="not an order"):
        decode_order(body)
    with pytest.raises(WorldError, match="not a report"):
        decode_report(body)


def test_a_report_is_not_an_order() -> None:
    with pytest.raises(WorldError, match="not an order"):
        decode_order(encode(Accepted("r1"))[4:])


def test_a_message_over_the_limit_is_not_framed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "FRAME_BYTES", 100)
    with pytest.raises(WorldError, match=r"Append: 13\d bytes; a frame has at most 100"):
        encode(Append("r1", bytes(101)))


def test_a_worker_says_hello_then_ready_then_the_rest() -> None:
    greeting = Greeting("think")
    for report in REPORTS:
        greeting.check(report)


@pytest.mark.parametrize(
    ("reports", "wrong"),
    [
        ([Hello(VERSION + 1, "think", 1)], f"speaks version {VERSION + 1} for 'think'"),
        ([Hello(VERSION, "speak", 1)], f"for 'speak'; we speak {VERSION} for 'think'"),
        ([Ready()], "Ready is out of place"),
        ([Beat()], "Beat before Ready"),
        ([Hello(VERSION, "think", 1), Hello(VERSION, "think", 1)], "Hello is out of place"),
        ([Hello(VERSION, "think", 1), Accepted("r1")], "Accepted before Ready"),
        ([Hello(VERSION, "think", 1), Ready(), Ready()], "Ready is out of place"),
    ],
)
def test_a_worker_with_other_first_words_is_refused(reports: list[Report], wrong: str) -> None:
    greeting = Greeting("think")
    for report in reports[:-1]:
        greeting.check(report)
    with pytest.raises(WorldError, match=wrong):
        greeting.check(reports[-1])
