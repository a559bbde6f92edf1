"""``pipecat-ai``, which shows no events of the server: what its pipeline makes of them is what is judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from tests.clients.clients import PIPECAT, stage
from tests.clients.microphone import FIRST, SECOND, Microphone, sentences
from tests.clients.puppet import Event, Puppet
from tests.clients.talk import LONG, SHORT, SPEECH, frame_of, script
from tests.serve.server import Server

pytestmark = pytest.mark.real_clock

SHAPE = ("frame.LLMFullResponseStart", "frame.TTSStarted", "frame.TTSStopped", "frame.LLMFullResponseEnd")


async def greeted(talking: Puppet) -> None:
    """Let the agent answer its context first, as every bot of this framework does."""
    await talking.until("frame.Start")
    await talking.do("run")
    await talking.until("frame.LLMFullResponseEnd")


async def ask(talking: Puppet) -> None:
    """Say something, and end the turn by hand; pipecat asks for the answer in the same breath."""
    await talking.append(SPEECH)
    await talking.do("commit")


def answer(events: Sequence[Event]) -> list[Event]:
    """Return the frames of the last answer, up to where it ended."""
    begins = max(at for at, event in enumerate(events) if event["type"] == SHAPE[0])
    return list(events[begins:])


def played(events: Sequence[Event]) -> list[int]:
    """Return which frames of the script were played."""
    return [frame_of(event["audio"]) for event in events if event["type"] == "frame.TTSAudio"]


@pytest.mark.speech
@pytest.mark.timeout_s(120)
async def test_a_user_who_interrupts_is_heard_and_answered(nursery: trio.Nursery, tmp_path: Path) -> None:
    heard = sentences()
    setting = await stage(nursery, tmp_path)
    async with setting.serve() as running:
        async with setting.enter(PIPECAT, "vad") as talking:
            await greeted(talking)
            microphone = Microphone(talking)
            nursery.start_soon(microphone.run)
            microphone.say(heard[FIRST])
            await talking.until("frame.TTSAudio")
            microphone.say(heard[SECOND])
            await talking.until("frame.Transcription", lambda frame: frame["text"] == SECOND)
            await talking.until("frame.TTSStarted")
            await talking.until("frame.LLMFullResponseEnd")
            said = "".join(frame["text"] for frame in answer(talking.events) if frame["type"] == "frame.TTSText")
            assert said == f"You said: {SECOND}."
            assert [frame["text"] for frame in talking.seen("frame.Transcription")] == [FIRST, SECOND]
            await talking.leave()
        await running.stop()
        assert ends_of(running) == ["COMPLETED", "CANCELLED", "COMPLETED"]


def ends_of(running: Server) -> list[str]:
    """Return how the responses of a server that has stopped ended, in order."""
    rows = [row for record in running.records() for row in record.get("rows", ()) if row["machine"] == "response"]
    return [row["to"] for row in rows if row["to"] in ("COMPLETED", "CANCELLED", "FAILED")]


async def test_a_turn_committed_by_hand_is_answered(nursery: trio.Nursery, tmp_path: Path) -> None:
    setting = await stage(nursery, tmp_path)
    async with setting.serve(*SHORT), setting.enter(PIPECAT, "manual") as talking:
        await greeted(talking)
        await ask(talking)
        await talking.until("frame.LLMFullResponseEnd")
        frames = answer(talking.events)
        assert tuple(frame["type"] for frame in frames if frame["type"] in SHAPE) == SHAPE
        assert played(frames) == script(6)
        said = "".join(frame["text"] for frame in frames if frame["type"] == "frame.TTSText")
        assert said == "You said: as the script says."
        assert [frame["text"] for frame in talking.seen("frame.Transcription")] == ["as the script says"]
        await talking.leave()


async def test_a_barge_in_cancels_the_answer_and_the_next_turn_is_heard(nursery: trio.Nursery, tmp_path: Path) -> None:
    setting = await stage(nursery, tmp_path)
    async with setting.serve(*LONG) as running:
        async with setting.enter(PIPECAT, "vad") as talking:
            await talking.until("frame.Start")
            await talking.do("run")
            await talking.until("frame.TTSAudio")
            await talking.append(SPEECH)
            await talking.until_all("frame.Interruption", "frame.LLMFullResponseEnd")
            assert len(played(talking.events)) < int(LONG[1])
            await talking.leave()
        await running.stop()
        assert ends_of(running) == ["CANCELLED"]


async def test_an_interruption_cancels_the_answer_and_the_next_one_is_whole(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path)
    async with setting.serve(*LONG) as running:
        async with setting.enter(PIPECAT, "manual") as talking:
            await greeted(talking)
            await ask(talking)
            await talking.until("frame.TTSAudio")
            await talking.do("cancel")
            await talking.until("frame.LLMFullResponseEnd")
            await ask(talking)
            await talking.until("frame.LLMFullResponseStart")
            await talking.until("frame.LLMFullResponseEnd")
            assert played(answer(talking.events)) == script(int(LONG[1]))
            await talking.leave()
        await running.stop()
        assert ends_of(running) == ["COMPLETED", "CANCELLED", "COMPLETED"]


@pytest.mark.parametrize("loss", ["torn", "restarted"])
async def test_a_lost_connection_is_an_error_and_a_reset_begins_a_fresh_session(
    loss: str, nursery: trio.Nursery, tmp_path: Path
) -> None:
    """Pipecat keeps no credentials and does not reconnect: its application resets the conversation."""
    setting = await stage(nursery, tmp_path)
    async with setting.serve(*SHORT) as first, setting.enter(PIPECAT, "vad") as talking:
        await greeted(talking)
        if loss == "torn":
            await setting.line.tear()
        else:
            await first.stop()
        await lost(talking)
        assert not talking.seen("frame.ProposedUserStartedSpeaking")
        async with setting.serve(*SHORT):
            await talking.do("reset")
            await talking.append(SPEECH)
            await talking.until("frame.ProposedUserStartedSpeaking")
            await talking.leave()


async def lost(talking: Puppet) -> None:
    """Speak until the framework notices that nobody is there, and says so once for each time."""
    with trio.fail_after(10):
        while not talking.seen("frame.Error"):
            await talking.append(SPEECH)
            await talking.next()
