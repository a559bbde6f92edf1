"""/inspect in a real browser: it follows a session that is talked to, and stays smooth with a thousand of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import PHONE, Open, Shoot
from tests.browser.serving import TOKEN, Wire, crowd, lit, serving, wait_lit
from tests.browser.smooth import measure
from tests.browser.test_talk import speak

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser]

MANY = 1000


def look(page: Page, address: str, token: str = TOKEN) -> None:
    """Open the inspector, and say the token."""
    page.goto(f"{address}/inspect")
    page.fill("#token", token)
    page.press("#token", "Enter")


def cells(page: Page) -> list[str]:
    """Return the texts of the first row."""
    found: list[str] = page.eval_on_selector_all(
        ".entry[data-session] [role=cell]", "all => all.map(e => e.textContent)"
    )
    return found


@pytest.mark.timeout_s(60)
def test_the_inspector_follows_a_session_that_is_talked_to(tabs: Open, tmp_path: Path) -> None:
    """One tab talks and loses its line, the other sees it as it happens; the trace that it downloads replays."""
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    with serving("--scripted", "50", "--inspect", str(secret)) as address:
        talker, inspector = tabs(permissions=["microphone"]).new_page(), tabs(accept_downloads=True).new_page()
        spoken, seen = Wire(talker), Seen(inspector)
        look(inspector, address)
        inspector.wait_for_selector("#status[data-is=open]")
        talker.goto(f"{address}/talk")
        speak(talker)
        talker.wait_for_selector(".bubble.reply")
        inspector.wait_for_selector(".entry[data-session]")
        assert cells(inspector)[1:5] == ["OPEN", "ATTACHED", "1", "HELD"]
        inspector.click(".entry[data-session]")
        wait_lit(inspector, "response", "DRAINING")
        talker.click("#plug")
        wait_lit(inspector, "attachment", "DETACHED")
        assert lit(inspector, "lease") == ["GRACE"]
        inspector.wait_for_selector(".tall .line >> text=TransportLost: plug_pulled")
        talker.click("#back")
        wait_lit(inspector, "attachment", "ATTACHED")
        talker.wait_for_selector(".bubble.reply:not([aria-busy])")
        replayed = replay(inspector, tmp_path)
        talker.click("#end")
        wait_lit(inspector, "session", "CLOSED")
        assert replayed.startswith("conforms: ")
        check_secrets(spoken, seen.text, inspector.content())


class Seen:
    """Everything that a page was sent."""

    def __init__(self, page: Page) -> None:
        self.frames: list[str] = []
        page.on("websocket", lambda socket: socket.on("framereceived", lambda data: self.frames.append(str(data))))

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.frames)


def replay(page: Page, folder: Path) -> str:
    """Download the trace of the session that is shown, replay it, and return what is said of it."""
    with page.expect_download() as download:
        page.click("#download")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    command = [sys.executable, "-m", "interlock", "replay", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_secrets(spoken: Wire, frames: str, page: str) -> None:
    """No token, no audio and no word of the conversation has been shown, or sent to be shown."""
    tokens = [event["resume_token"] for event in spoken.heard if "resume_token" in event]
    audio = [event["delta"][:40] for event in spoken.heard_of("response.output_audio.delta")]
    audio += [
        event["audio"][:40] for event in spoken.sent_of("input_audio_buffer.append") if event["audio"].strip("A=")
    ]
    assert len(tokens) == 2
    assert audio
    for secret in [*tokens, *audio, TOKEN, "as the script says"]:
        assert secret not in frames
        assert secret not in page


@pytest.mark.timeout_s(60)
def test_a_thousand_sessions_are_found_sorted_and_scrolled(tabs: Open, shoot: Shoot, record_property: Any) -> None:
    """All are there, few are in the page, the one that owes is found; what a frame took is noted, and not judged."""
    with crowd(MANY) as address:
        page = tabs().new_page()
        look(page, address, "a wrong token of the right length")
        page.wait_for_selector("#why:not(:empty)")
        assert page.is_hidden("#sessions")
        look(page, address)
        page.wait_for_selector(".entry[data-session]")
        assert page.inner_text(".finder output") == f"{MANY + 1} of {MANY + 1} sessions"
        assert len(page.query_selector_all(".entry[data-session]")) < 60
        record_property("smooth", measure(page)._asdict())
        page.click("[data-column=owed] button")
        page.wait_for_selector(".entry[aria-rowindex='2'] .owing")
        assert page.inner_text(".entry[aria-rowindex='2'] .owing") == "1 · ears"
        assert page.get_attribute("[data-column=owed]", "aria-sort") == "descending"
        shoot(page, "inspect-light")
        page.fill("#sessions input[type=search]", "owes ears")
        page.wait_for_selector(f".finder output >> text=1 of {MANY + 1} sessions")
        check_session(page, shoot)
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        page.click("text=All sessions")
        page.fill("#sessions input[type=search]", "")
        page.wait_for_selector(".entry[data-session] >> nth=5")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        shoot(page, "inspect-phone")


def check_session(page: Page, shoot: Shoot) -> None:
    """Open the session by keyboard, search its chart, and look at the machines as they were."""
    page.focus(".entry[data-session]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tall .line")
    assert lit(page, "request") in (["ABORTING"], ["OWED"])
    assert "ears" in page.inner_text(".view dl")
    page.fill(".view input[type=search]", "WorkerAssigned")
    page.wait_for_selector(".tall .line.found")
    assert page.inner_text(".tools .count").startswith("1 of ")
    page.click(".tall .line.found")
    wait_lit(page, "request", "SUBMITTING")
    page.emulate_media(color_scheme="dark")
    shoot(page, "inspect-session-dark")
    page.click("text=Latest")
    page.wait_for_selector("#state-request-SUBMITTING:not(.lit)", state="attached")


LONG = """
async () => {
  const { SessionView } = await import("/pages/view.js");
  const tables = await (await fetch("/pages/machines.json")).json();
  const view = new SessionView(tables, "sess_long");
  const value = { cells: [["session", null, "OPEN", {}], ["lease", null, "GRACE", {}]], epoch: 1 };
  view.take([{ n: 0, at: 0, session: "sess_long", value }]);
  const handed = { session: "sess_long", event: { type: "Handed" } };
  for (let at = 1; at <= 30; at += 1) view.take(Array.from({ length: 1000 }, () => ({ ...handed, at })));
  const lit = () => [...view.element.querySelectorAll(".state.lit")].map((state) => state.dataset.state);
  const now = lit();
  view.pick(0);
  return { now, then: lit(), records: view.records.length };
}
"""


@pytest.mark.timeout_s(40)
def test_a_session_that_is_watched_for_long_keeps_its_states_and_not_all_of_its_records(tabs: Open) -> None:
    """What a page holds of one session has a limit; how it was before is not lost with the records."""
    with crowd(1) as address:
        page = tabs().new_page()
        page.goto(f"{address}/inspect")
        found = page.evaluate(LONG)
        assert found["now"] == found["then"] == ["OPEN", "GRACE"]
        assert 10_000 <= found["records"] <= 20_000
