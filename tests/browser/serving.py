"""`interlock serve` and the crowd as processes, and what a page sent and received."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocket

TOKEN = "correct horse battery"


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run a server for the block; give its address. After it nothing may be owed."""
    command = [sys.executable, "-m", "interlock", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        process.terminate()
        report = json.loads(process.stdout.readline())
        assert report["owed"] == []
        assert report["defects"] == []
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def crowd(count: int) -> Iterator[str]:
    """Run a server with many sessions for the block; give its address."""
    command = [sys.executable, "-m", "tests.browser.crowd", str(count), TOKEN]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


class Wire:
    """The messages of a page's WebSockets at one path, in order, over all of its connections."""

    def __init__(self, page: Page, path: str = "/v1/duplex") -> None:
        self.sent: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []
        self._path = path
        self._socket: WebSocket | None = None
        page.on("websocket", self._follow)

    def heard_of(self, kind: str) -> list[dict[str, Any]]:
        """Return what came of one type."""
        return [event for event in self.heard if event["type"] == kind]

    def sent_of(self, kind: str) -> list[dict[str, Any]]:
        """Return what went of one type."""
        return [event for event in self.sent if event["type"] == kind]

    def until_heard(self) -> None:
        """Wait until the page tells that something of the reply was played; the first it tells may be nothing yet."""
        assert self._socket is not None
        self._socket.wait_for_event("framesent", lambda text: json.loads(text).get("played_ms", 0) > 0)

    def _follow(self, socket: WebSocket) -> None:
        if self._path in socket.url:
            self._socket = socket
            socket.on("framesent", lambda data: self.sent.append(json.loads(data)))
            socket.on("framereceived", lambda data: self.heard.append(json.loads(data)))


def lit(page: Page, machine: str) -> list[str]:
    """Return the states of a machine that are lit."""
    found: list[str] = page.eval_on_selector_all(
        f"[data-machine={machine}] .state.lit", "all => all.map(each => each.dataset.state)"
    )
    return found


def wait_lit(page: Page, machine: str, state: str) -> None:
    """Wait until a state is lit."""
    page.wait_for_selector(f"#state-{machine}-{state}.lit", state="attached")


def steps(page: Page) -> list[str]:
    """Return the last transitions, newest first, each as one text."""
    each = "e => [...e.children].map(c => c.textContent).join(' ')"
    found: list[str] = page.eval_on_selector_all(".steps li", f"all => all.map({each})")
    return found
