"""The conversation against a plain list: order, size and room are what they would be if one counted them anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import ClientError, LimitReached
from interlock.session.conversation import ROOT, Conversation
from interlock.session.settings import Settings
from interlock.wire.items import Item, call_item, heard_item, said_item
from interlock.wire.outbound import encode

TIGHT = Settings(max_items=8, conversation_bytes=16 * 1024, item_bytes=8 * 1024)
NAMES = st.sampled_from("abcdef")
OPS = st.lists(
    st.tuples(st.sampled_from(["add", "replace", "remove", "room"]), NAMES, NAMES | st.sampled_from([ROOT, None])),
    max_size=40,
)


def said(name: str, text: str = "hello") -> Item:
    return said_item(name, "completed", text, written=False)


@given(OPS)
def test_items_are_where_a_list_would_have_them_and_weigh_what_they_weigh(
    ops: list[tuple[str, str, str | None]],
) -> None:
    conversation, names = Conversation(), list[str]()
    for number, (op, name, after) in enumerate(ops):
        match op:
            case "add" if name not in names and (after in (None, ROOT) or after in names):
                at = len(names) if after is None else 0 if after == ROOT else names.index(after) + 1
                names.insert(at, name)
                assert conversation.add(said(name), after) == (names[at - 1] if at else None)
            case "replace":
                conversation.replace(said(name, "x" * number), [(1.0, 1)])
            case "remove":
                conversation.remove(name)
                names = [each for each in names if each != name]
            case "room":
                gone = conversation.make_room(TIGHT)
                assert gone == names[: len(gone)]
                names = names[len(gone) :]
                assert len(names) < 6
            case _:
                continue  # what a client may not add
        assert [item["id"] for item in conversation.items] == names
        assert conversation.size == sum(len(encode(item)) for item in conversation.items)
        assert conversation.last == (names[-1] if names else None)
        assert set(conversation.marks) <= set(names)


def test_what_a_client_may_not_add_is_refused_before_anything_has_changed() -> None:
    conversation = Conversation()
    conversation.add(heard_item("a", "hello"))
    conversation.add(call_item("f", "completed", "c", "look_up", "{}"))
    output = {"id": "o", "type": "function_call_output", "call_id": "c", "output": ""}
    conversation.check(output, "f", TIGHT)
    for item, after, code in (
        (said("a"), None, "bad_event"),
        (said("b"), "nobody", "item_not_found"),
        (said("b", "x" * 9000), None, "bad_event"),
        (output | {"call_id": "other"}, None, "invalid_function_call_output"),
    ):
        with pytest.raises(ClientError) as caught:
            conversation.check(item, after, TIGHT)
        assert caught.value.code == code
    for number in range(6):
        conversation.add(said(str(number)))
    with pytest.raises(LimitReached, match="max_items = 8"):
        conversation.check(said("b"), None, TIGHT)
    assert len(conversation) == 8


@pytest.mark.parametrize(
    ("items", "last"),
    [
        ((), None),
        ((heard_item("a", "hello"), said("b")), "a"),
        ((heard_item("a", "hello"), {"id": "o", "type": "function_call_output", "call_id": "c", "output": "2"}), "o"),
    ],
)
def test_the_last_input_is_what_is_answered(items: tuple[Item, ...], last: str | None) -> None:
    conversation = Conversation()
    for item in items:
        conversation.add(item)
    found = conversation.last_input
    assert (found["id"] if found else None) == last
