"""The conversation of a session: its items, in order, bounded. It decides nothing; the machines know no items."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.errors import ClientError, LimitReached
from interlock.session.settings import Settings
from interlock.wire.items import Item, is_input
from interlock.wire.outbound import encode

ROOT = "root"
"""The ``previous_item_id`` of an item that comes first."""


class Conversation:
    """Items by id, in order. Lazy: an empty one holds nothing."""

    __slots__ = ("_items", "_sizes", "count", "marks", "size")

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._sizes: dict[str, int] = {}
        self.marks: dict[str, Sequence[tuple[float, int]]] = {}
        """Of what was spoken: where in its audio so many words end."""
        self.size = 0
        """Bytes of the items, as JSON."""
        self.count = 0
        """Items that were ever given an id here; the next one's number."""

    def __len__(self) -> int:
        return len(self._items)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items, in order."""
        return tuple(self._items.values())

    @property
    def last(self) -> str | None:
        """The id of the last item."""
        return next(reversed(self._items), None)

    @property
    def last_input(self) -> Item | None:
        """The last item that is something to answer."""
        return next((item for item in reversed(self._items.values()) if is_input(item)), None)

    def next_id(self, prefix: str) -> str:
        """Return an id that no other item has had."""
        self.count += 1
        return f"{prefix}_{self.count}"

    def get(self, item_id: str) -> Item:
        """Return an item. Raises :class:`ClientError` (``item_not_found``)."""
        if item_id not in self._items:
            raise ClientError("item_not_found", f"there is no item {item_id[:64]!r}", param="item_id")
        return self._items[item_id]

    def before(self, item_id: str) -> str | None:
        """Return the id of the item before this one."""
        previous = None
        for each in self._items:
            if each == item_id:
                return previous
            previous = each
        return previous

    def check(self, item: Item, after: str | None, settings: Settings) -> None:
        """Refuse what a client may not add, before anything has changed. Raises :class:`ClientError`."""
        size = len(encode(item))
        if item["id"] in self._items:
            raise ClientError("bad_event", f"there is an item {item['id'][:64]!r} already", param="item.id")
        if after not in (None, ROOT) and after not in self._items:
            raise ClientError("item_not_found", f"there is no item {str(after)[:64]!r}", param="previous_item_id")
        if size > settings.item_bytes:
            text = f"the item is {size} bytes, over item_bytes = {settings.item_bytes}: send less"
            raise ClientError("bad_event", text, param="item")
        if len(self) >= settings.max_items:
            raise LimitReached("max_items", settings.max_items)
        if self.size + size > settings.conversation_bytes:
            raise LimitReached("conversation_bytes", settings.conversation_bytes)
        if item["type"] == "function_call_output" and not self._has_call(item["call_id"]):
            text = f"no function call {item['call_id'][:64]!r} is in the conversation"
            raise ClientError("invalid_function_call_output", text, param="item.call_id")

    def add(self, item: Item, after: str | None = None) -> str | None:
        """Add an item after another one, or at the end; return the id of the one before it."""
        if after is None:
            self._items[item["id"]] = item
        else:
            behind = list(self._items.items())
            at = 0 if after == ROOT else [name for name, _ in behind].index(after) + 1
            self._items = dict([*behind[:at], (item["id"], item), *behind[at:]])
        self._weigh(item)
        return self.before(item["id"])

    def replace(self, item: Item, marks: Sequence[tuple[float, int]] = ()) -> None:
        """Put a newer state of an item in its place; one that is gone stays gone."""
        if item["id"] in self._items:
            self._items[item["id"]] = item
            if marks:
                self.marks[item["id"]] = marks
            self._weigh(item)

    def remove(self, item_id: str) -> None:
        """Let go of an item."""
        if self._items.pop(item_id, None) is not None:
            self.size -= self._sizes.pop(item_id)
            self.marks.pop(item_id, None)

    def make_room(self, settings: Settings) -> list[str]:
        """Let go of the oldest items, so that speech takes no more than three quarters; return their ids.

        The rest is for what clients add: speech is never refused, so it must not be what fills the conversation up.
        """
        most, room = settings.max_items * 3 // 4, settings.conversation_bytes * 3 // 4
        gone = []
        while len(self) >= most or self.size > room:
            if not self._items:
                break
            gone.append(next(iter(self._items)))
            self.remove(gone[-1])
        return gone

    def _weigh(self, item: Item) -> None:
        size = len(encode(item))
        self.size += size - self._sizes.get(item["id"], 0)
        self._sizes[item["id"]] = size

    def _has_call(self, call_id: str) -> bool:
        return any(item["type"] == "function_call" and item["call_id"] == call_id for item in self._items.values())
