"""The items of a conversation as they come about: by a client's word, by what is heard, and by what a response says.

Beside the frozen value, like all text: no machine moves here. Each change is told by an event of its own, in the
journal, so that a client that comes back reads it as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from interlock.errors import ClientError
from interlock.runtime.beside import Input, Mark, Speech
from interlock.runtime.ports import FunctionCall
from interlock.session.books import MessageBegun, PlaybackAcked
from interlock.wire.items import GivenItem, call_item, given_item, heard_item, said_item, text_of
from interlock.wire.lifecycle import LifecycleFacts, names_of

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

FASTEST: Final = 0.02
"""Characters that are spoken in a millisecond, at most: what of a text can have been heard is estimated by it."""

MAX_MARKS: Final = 1024
"""Of one response; a voice that says more is not listened to about them."""


def key_of(driver: Driver) -> str:
    """Return what makes the ids of a session its own."""
    return driver.session_id.removeprefix("sess_")


# --- by a client's word


def create(driver: Driver, given: GivenItem, after: str | None) -> None:
    """Add an item. Raises :class:`ClientError`, and nothing has changed.

    Clients tell a fresh session what an older one had, by its ids, and put what they have edited back under its own.
    So an id of ours is refused only where it is still to be given.
    """
    if given.id is not None and is_to_come(driver, given.id):
        text = f"id = {given.id[:64]!r} is one that the server will give; give another, or none"
        raise ClientError("bad_event", text, param="item.id")
    item = given_item(given, given.id or driver.conversation.next_id(f"item_{key_of(driver)}"))
    driver.conversation.check(item, after, driver.settings)
    previous = driver.conversation.add(item, after)
    driver.tell("conversation.item.created", LifecycleFacts(item=item, previous=previous))


def is_to_come(driver: Driver, item_id: str) -> bool:
    """Whether an id looks like one that this session gives, and has not given yet."""
    kind, ours, number = item_id.rpartition(f"_{key_of(driver)}_")
    number = number.partition("_")[0]
    if not ours:
        return False
    if not (number.isascii() and number.isdigit()):
        return True
    if kind == "item_resp":
        return int(number) > driver.value.answered or f"resp_{key_of(driver)}_{number}" in driver.speeches
    return int(number) > driver.conversation.count


def delete(driver: Driver, item_id: str) -> None:
    """Let go of an item. Raises :class:`ClientError` (``item_not_found``)."""
    driver.conversation.get(item_id)
    _let_go(driver, (item_id,))


def truncate(driver: Driver, item_id: str, played_ms: int) -> None:
    """Cut an item to what the user has heard of it; the position is the client's, as in ``playback.ack``.

    Raises :class:`ClientError`: ``item_not_found``, ``bad_event`` for what is no speech, and what the position raises.
    """
    item = driver.conversation.get(item_id)
    parts = {part["type"] for part in item.get("content", ())}
    if not item_id.startswith(f"item_resp_{key_of(driver)}_") or item["type"] != "message" or parts - {"output_audio"}:
        raise ClientError("bad_event", "only what a response of this session speaks can be truncated", param="item_id")
    response_id = item_id.removeprefix("item_")
    heard_ms, speech = _play(driver, response_id, played_ms), driver.speeches.get(response_id)
    text = "".join(speech.said) if speech is not None else text_of(item)
    marks = speech.marks if speech is not None else driver.conversation.marks.get(item_id, ())
    made_ms = driver.value.played(response_id).made_ms
    kept = words_of(text, heard_words(marks, heard_ms)) if marks else heard_of(text, heard_ms, made_ms)
    if speech is not None:
        speech.cut = len(kept)
    driver.conversation.replace(said_item(item_id, item["status"], kept, written=False))
    driver.tell("conversation.item.truncated", LifecycleFacts(item_id=item_id, at_ms=round(heard_ms)))


def _play(driver: Driver, response_id: str, played_ms: int) -> float:
    """Move the position, and return what holds. Of what was cleared it is final, but the text may still be cut."""
    entry = driver.value.played(response_id)
    if entry.cleared:
        return min(played_ms, entry.made_ms)
    driver.dispatch(PlaybackAcked(response_id, played_ms))
    return min(played_ms, driver.value.played(response_id).made_ms)


def heard_of(text: str, played_ms: float, made_ms: float) -> str:
    """Return what of a text was heard, to the last whole word: an estimate, by its length and by how fast one speaks.

    That is for voices that do not say where in their audio a text ends. Text comes before its audio, so a response
    that was interrupted has more text than the audio that was made of it.
    """
    if not text or played_ms <= 0 or made_ms <= 0:
        return ""
    most = min(len(text) * played_ms / made_ms, played_ms * FASTEST)
    if most >= len(text):
        return text
    return text[: int(most)].rpartition(" ")[0]


def heard_words(marks: Sequence[tuple[float, int]], played_ms: float) -> int:
    """Return how many words were heard, by what the voice has said of its audio; in a piece, in proportion."""
    began, said = 0.0, 0
    for at_ms, words in marks:
        if at_ms > played_ms:
            return said + int((words - said) * (played_ms - began) / (at_ms - began))
        began, said = at_ms, words
    return said


def words_of(text: str, count: int) -> str:
    """Return the first words of a text, as they stand in it."""
    ends = [word.end() for word in re.finditer(r"\S+", text)]
    return text[: ends[min(count, len(ends)) - 1]] if count and ends else ""


def mark(speech: Speech, text: str, at_ms: int) -> None:
    """Note that the voice has made this much more of the text, up to a place in its audio."""
    last = speech.marks[-1] if speech.marks else Mark(0.0, 0)
    if len(speech.marks) < MAX_MARKS and at_ms > last.at_ms:
        speech.marks.append(Mark(at_ms, last.words + len(text.split())))


def _let_go(driver: Driver, item_ids: Collection[str]) -> None:
    for item_id in item_ids:
        driver.conversation.remove(item_id)
        driver.tell("conversation.item.deleted", LifecycleFacts(item_id=item_id))


# --- by what is heard


def begin_turn(driver: Driver, held: Input) -> str:
    """Return the id of the item that the turn under way will be."""
    if not held.item_id:
        held.item_id = driver.conversation.next_id(f"item_turn_{key_of(driver)}")
    return held.item_id


def commit_turn(driver: Driver, held: Input) -> None:
    """Add the turn to the conversation. What it says is still to be understood."""
    item = heard_item(begin_turn(driver, held), None)
    held.awaits = True
    _let_go(driver, driver.conversation.make_room(driver.settings))
    previous = driver.conversation.add(item)
    driver.tell("input_audio_buffer.committed", LifecycleFacts(item=item, previous=previous))


def understand_turn(driver: Driver, held: Input, text: str, at_ms: int) -> None:
    """Fill in what the turn says."""
    driver.conversation.replace(heard_item(held.item_id, text))
    facts = LifecycleFacts(item_id=held.item_id, transcript=text, at_ms=at_ms)
    driver.tell("conversation.item.input_audio_transcription.completed", facts)
    held.item_id, held.awaits = "", False


# --- by what a response says


def begin_message(driver: Driver, response_id: str, speech: Speech) -> None:
    """Add the response's message to its output, and to the conversation, before the first that it says."""
    item = said_item(f"item_{response_id}", "in_progress", None, written=speech.written)
    speech.index = speech.begin(item)
    if speech.in_band:
        _let_go(driver, driver.conversation.make_room(driver.settings))
        speech.previous = driver.conversation.add(item)
    facts = facts_of_item(response_id, speech, speech.index)
    closing = len(names_of("response.done", facts)) - 1
    driver.tell("response.message", facts, taking=lambda count: MessageBegun(response_id, count, closing))


def make_call(driver: Driver, response_id: str, epoch: int, speech: Speech, call: FunctionCall) -> None:
    """Add a function call. Its events are output like any other: an interrupt voids what was not handed over yet."""
    name = f"item_{response_id}_{len(speech.output) + 1}"
    call_id = call.call_id or f"call_{response_id.removeprefix('resp_')}_{len(speech.output) + 1}"
    item = call_item(name, "completed", call_id, call.name, call.arguments)
    index = speech.begin(item)
    previous = None
    if speech.in_band:
        _let_go(driver, driver.conversation.make_room(driver.settings))
        previous = driver.conversation.add(item)
    facts = LifecycleFacts(response_id=response_id, item=item, previous=previous, index=index, in_band=speech.in_band)
    whole = names_of("response.function_call", facts).index("response.function_call_arguments.done")
    speech.calls[name] = whole + driver.tell("response.function_call", facts, epoch=epoch)


def take_back_calls(driver: Driver, unsent: Collection[int]) -> None:
    """Forget the calls that an interrupt voided before any transport was handed them: nobody will answer them."""
    for speech in driver.speeches.values():
        for name in [name for name, seq in speech.calls.items() if seq in unsent]:
            del speech.calls[name]
            speech.output = [item for item in speech.output if item["id"] != name]
            driver.conversation.remove(name)


def end_message(driver: Driver, response_id: str, speech: Speech, status: str) -> None:
    """Write down what the response has said in the end."""
    if speech.index is None:
        return
    text = "".join(speech.said)[: speech.cut]
    ended = "completed" if status == "completed" else "incomplete"
    item = said_item(f"item_{response_id}", ended, text, written=speech.written)
    speech.output = [item if each["id"] == item["id"] else each for each in speech.output]
    driver.conversation.replace(item, speech.marks)


def facts_of_item(response_id: str, speech: Speech, index: int) -> LifecycleFacts:
    """Return what is told of an item that begins."""
    return LifecycleFacts(
        response_id=response_id,
        item=speech.output[index],
        previous=speech.previous,
        index=index,
        written=speech.written,
        in_band=speech.in_band,
    )
