"""What a response is asked with: which turn it answers, in which words of the conversation, and with whose wishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.errors import ClientError, LimitReached
from interlock.runtime.beside import Speech
from interlock.session.asked import Wish, wish_of, writes
from interlock.session.facts import fences_with_one_more
from interlock.wire.items import is_input, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from interlock.runtime.driver import Driver

NO_WISH: Final = Wish()


def speech_of(driver: Driver, wish: Wish) -> Speech:
    """Return what lies beside a response from its beginning on."""
    config = wish.applied(driver.config)
    items = config.get("input", driver.conversation.items)
    config["input"] = items
    turn = next((text_of(item) for item in reversed(items) if is_input(item)), "")
    return Speech(turn, config, wish.metadata, writes(config), wish.in_band)


def ask(driver: Driver, response: Mapping[str, Any]) -> None:
    """Answer now, or when the turn that is being heard was heard. Raises :class:`ClientError`, and nothing is asked."""
    wish = wish_of(response, driver.settings)
    driver.host.check(wish.applied(driver.config))
    check_room(driver)
    if not driver.is_heard_out:
        driver.wanted = wish
        return
    if driver.conversation.last_input is None and not {"input", "instructions"} & wish.changes.keys():
        raise ClientError("response_create_without_input", "nothing was said yet that could be answered")
    driver.host.answer(driver, wish)


def check_room(driver: Driver) -> None:
    """Refuse to be asked for an answer while one is live, or too much is still to be cleaned up."""
    if driver.wanted is not None or any(machine == "response" for machine, _ in driver.value.cells):
        raise ClientError("response_already_active", "cancel the response that is live, or wait for it")
    limit = driver.settings.max_fences
    if driver.is_heard_out and fences_with_one_more(driver.value, driver.value.cells) > limit:
        raise LimitReached("max_fences", limit)
