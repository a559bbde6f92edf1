"""Strict clients over real sockets: a token that is lost on the way, a takeover, a server that is full or stops."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
import trio

from interlock.runtime.ports import TransportClosed
from interlock.transport.dial import dial
from interlock.transport.limits import SocketLimits
from interlock.workers.echo import VOICE
from tests.faults.door import LOUD, Door, door
from tests.serve.wire import Wire
from tests.transport.scripted import deafened
from tests.transport.test_dialects import MANUAL

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(30)]


def url_of(opened: Door, held: dict[str, Any] | None = None, position: int = 0) -> str:
    url = opened.url.replace("duplex", "realtime")
    if held is None:
        return url
    words = {"session_id": held["session_id"], "resume_token": held["resume_token"]}
    return f"{url}?{urlencode(words | {'last_received_server_event_seq': position})}"


async def answer(wire: Wire) -> dict[str, Any]:
    await wire.say("session.update", session=MANUAL)
    await wire.say("input_audio_buffer.append", audio=LOUD)
    await wire.say("input_audio_buffer.commit")
    await wire.say("response.create")
    return await wire.until("response.done")


async def test_an_answer_that_is_swallowed_costs_one_more_attempt_and_no_event() -> None:
    """Promise 3 over a real proxy: T0 is good until a token that the client did read is used."""
    async with door(frames=20) as opened:
        first = await opened.dial("", url_of(opened))
        held = await first.until("session.created")
        await answer(first)
        numbers = first.numbers
        first.tear()
        async with deafened(url_of(opened), connections={1, 2}) as proxied:
            query = url_of(opened, held, numbers[3]).partition("?")[2]
            for _ in range(2):
                lost = Wire(await dial(f"{proxied}?{query}", SocketLimits()))
                with trio.move_on_after(0.2):
                    assert await lost.next() is None
                lost.tear()
            again = await opened.dial("", url_of(opened, held, numbers[3]))
            created = await again.until("session.created")
            assert (created["resumed"], created["session_id"]) == (True, held["session_id"])
            await again.until("response.done")
            assert again.numbers == numbers[4:]
        used = await opened.dial("", url_of(opened, created, again.numbers[-1]))
        assert (await used.until("session.created"))["resumed"]
        late = await opened.dial("", url_of(opened, held))
        refused = await late.until("session.created")
        assert (refused["resumed"], refused["resume_refused"]) == (False, "invalid_resume_token")


async def test_a_superseded_socket_is_closed_with_4001_and_without_a_word() -> None:
    async with door() as opened:
        first = await opened.dial("", url_of(opened))
        held = await first.until("session.created")
        second = await opened.dial("", url_of(opened, held))
        assert (await second.until("session.created"))["resumed"]
        assert await first.to_the_end() == [held]
        assert (first.transport.close_code, first.transport.close_reason) == (4001, "session_replaced")


async def test_close_codes_as_clients_act_upon_them() -> None:
    """1013 is to try again later, 1012 to come back: by then at the next process, which opens a fresh session."""
    async with door(max_sessions=1) as opened:
        first = await opened.dial("", url_of(opened))
        held = await first.until("session.created")
        full = await opened.dial("", url_of(opened))
        (error,) = await full.to_the_end()
        assert (error["error"]["code"], full.transport.close_code) == ("resource_exhausted", 1013)
        opened.host.stop()
        assert (await first.to_the_end(), first.transport.close_code) == ([held], 1012)
    async with door() as fresh:
        wire = await fresh.dial("", url_of(fresh, held, 9))
        created = await wire.until("session.created")
        assert (created["resumed"], created["resume_refused"]) == (False, "session_resume_expired")
        assert (await answer(wire))["response"]["status"] == "completed"


async def test_a_barge_in_by_voice_reads_as_turn_detected() -> None:
    async with door() as opened:
        opened.fleet[VOICE].script.ends = False
        wire = await opened.dial("", url_of(opened))
        await wire.until("session.created")
        await wire.say("input_audio_buffer.append", audio=LOUD)
        await wire.say("input_audio_buffer.commit")
        await wire.say("response.create")
        await wire.until("response.output_audio.delta")
        await wire.say("input_audio_buffer.append", audio=LOUD)
        done = await wire.until("response.done")
        details = done["response"]["status_details"]
        assert (done["response"]["status"], details["reason"]) == ("cancelled", "turn_detected")
        with pytest.raises(TransportClosed):
            await dial(url_of(opened).replace("realtime", "nothing"), SocketLimits())
