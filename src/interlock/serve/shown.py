"""The pages of a server that people look at: which of them there are, and where they get what they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import trio

from interlock.errors import WorldError
from interlock.observe.history import History
from interlock.runtime.host import Host
from interlock.runtime.ports import Recorder
from interlock.runtime.silent import Silent
from interlock.serve.config import PageSettings
from interlock.serve.inspector import Inspector, show_inspector
from interlock.serve.router import Guard, Router
from interlock.serve.talk import show_assets, show_talk
from interlock.transport.endpoint import Handler

LENGTH: Final = 16
"""Characters that the inspector's token has at least."""

Bound: TypeAlias = Callable[[Handler], Handler]


class Pages:
    """The pages of one server. Raises :class:`WorldError` for a token that is none."""

    def __init__(self, settings: PageSettings) -> None:
        """Show what ``settings`` say."""
        self._settings = settings
        self._token = token_of(settings)
        self._history: History | None = None

    def record(self, trace: Recorder | None) -> Recorder | None:
        """Return the recorder that the host wants for the pages; ``trace`` gets everything that is recorded, too."""
        if self._settings.talk or self._token:
            self._history = History(trace or Silent(), everything=bool(self._token))
        return self._history or trace

    def show(self, router: Router, host: Host, nursery: trio.Nursery, bound: Bound, *guards: Guard) -> None:
        """Add the pages to the port, behind ``guards``; ``bound`` limits the connections of one client."""
        if self._history is None:
            return
        show_assets(router)
        if self._settings.talk:
            show_talk(router, host, self._history, bound, *guards)
        if self._token:
            inspector = Inspector(host, self._history, self._token)
            show_inspector(router, inspector, bound, *guards, anywhere=self._settings.inspect_anywhere)
            nursery.start_soon(inspector.run)

    def told(self, url: str) -> dict[str, str]:
        """Return where the pages are, of a server whose sessions are at ``url``."""
        parts = urlsplit(url)
        root = f"{parts.scheme.replace('ws', 'http')}://{parts.netloc}"
        there = {"talk": self._settings.talk, "inspect": bool(self._token)}
        return {name: f"{root}/{name}" for name, is_there in there.items() if is_there}


def token_of(settings: PageSettings) -> str:
    """Return the token of the inspector; empty where there is none, and then there is no inspector."""
    token, file = settings.inspect_token.get_secret_value(), settings.inspect_token_file
    if file is not None:
        token = _first_line(file)
    if len(token) < LENGTH and (token or file is not None):
        where = f"pages.inspect_token_file {file}" if file is not None else "pages.inspect_token"
        raise WorldError(f"{where}: the token has {len(token)} characters, and at least {LENGTH} are wanted")
    if settings.inspect_anywhere and not token:
        raise WorldError("pages.inspect_anywhere: there is no inspector without a token; name one with --inspect FILE")
    return token


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WorldError(f"pages.inspect_token_file {path}: cannot be read: {error}") from None
