"""A real browser: the system's Chromium, without a window, whose microphone hears a recording.

Where playwright or a browser is not there, the tests of this folder skip and say so. The pictures that tests take go to
the folder that INTERLOCK_TEST_SCREENS names; docs/screens has those that were looked at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DESK = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}

Open = Callable[..., "BrowserContext"]
Shoot = Callable[["Page", str], None]


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Start a browser. Its microphone hears what the test's fixture `recording` names, once; else a tone."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; extra dev")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the PATH")
    arguments = [
        "--no-sandbox",  # as root there is none
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        "--autoplay-policy=no-user-gesture-required",
    ]
    if "recording" in request.fixturenames:
        arguments.append(f"--use-file-for-fake-audio-capture={request.getfixturevalue('recording')}%noloop")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Open]:
    """Give windows whose tabs see each other. An error that a page does not catch fails the test.

    So does one that the browser reports, unless the test ``expects_errors``: a connection that is refused is one.
    """
    errors: list[str] = []

    def open_(*, expects_errors: bool = False, **options: Any) -> BrowserContext:
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})
        context.set_default_timeout(20_000)
        context.on("weberror", lambda found: errors.append(found.error.stack or str(found.error)))
        if not expects_errors:
            context.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        return context

    yield open_
    assert errors == []


@pytest.fixture
def shoot(tmp_path: Path) -> Shoot:
    """Take a picture of a whole page."""
    folder = Path(os.environ.get("INTERLOCK_TEST_SCREENS") or tmp_path)

    def take(page: Page, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        picture = page.screenshot(path=folder / f"{name}.png", full_page=True)
        assert picture.startswith(b"\x89PNG")

    return take
