"""/talk in a real browser: a spoken turn, a barge-in, a plug that is pulled, a take-over; with the keyboard, too."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import PHONE, Open, Shoot
from tests.browser.serving import Wire, lit, serving, steps, wait_lit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser]

AUDIO = Path(__file__).parents[2] / "examples" / "audio"
RATE = 16_000
FRAMES = 60
"""Of 40 ms: what a scripted server answers."""


def speech(name: str) -> bytes:
    """Return a recording as PCM16 at 16 kHz."""
    with wave.open(str(AUDIO / f"{name}.wav")) as file:
        assert file.getframerate() == RATE
        return bytes(file.readframes(file.getnframes()))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Say something, wait until it is being answered, and talk into the answer."""
    path = tmp_path / "microphone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(bytes(RATE) + speech("digits") + bytes(int(RATE * 1.2) * 2) + speech("go-somewhere"))
        file.writeframes(bytes(RATE * 2 * 20))
    return path


@pytest.mark.speech
@pytest.mark.timeout_s(60)
def test_a_spoken_turn_and_a_barge_in(tabs: Open, recording: Path, shoot: Shoot) -> None:
    """Real speech, real models: the words come back, the second utterance cuts the first answer off at once."""
    pytest.importorskip("pocketsphinx", reason="extra speech is not installed")
    with serving() as address:
        page = tabs(permissions=["microphone"]).new_page()
        wire = Wire(page)
        page.goto(f"{address}/talk")
        page.click("#talk")
        page.wait_for_selector(".bubble.you:not([aria-busy])")
        assert "two nine three four zero" in page.inner_text(".bubble.you")
        page.wait_for_selector("#level-out[data-is=sounding]")
        page.wait_for_selector("#level-in[data-is=sounding]")
        shoot(page, "talk-light")
        page.wait_for_selector(".bubble.reply.cut")
        assert "interrupted" in page.inner_text(".bubble.reply.cut")
        page.wait_for_selector(".bubble.reply:not(.cut):not([aria-busy]) >> nth=0")
        page.wait_for_selector("#interrupt:disabled")
        cut, whole = (event["response"] for event in wire.heard_of("response.done"))
        assert (cut["status"], whole["status"]) == ("cancelled", "completed")
        assert "go somewhere" in page.inner_text(".bubble.reply:not(.cut)").lower()
        check_nothing_stale(wire, cut["id"])
        assert "ResponseInterrupted: turn_detected" in " | ".join(steps(page))
        page.click("#end")
        page.wait_for_selector("#status[data-is=over]")
        check_heard(wire, cut["id"], whole["id"])


def check_nothing_stale(wire: Wire, response: str) -> None:
    """After the end of a response not one delta of it came."""
    types = [(event["type"], event.get("response_id")) for event in wire.heard]
    assert types.count(("response.done", response)) == 1
    after = types[types.index(("response.done", response)) :]
    assert ("response.output_audio.delta", response) not in after


def check_heard(wire: Wire, cut: str, whole: str) -> None:
    """What was played is told: of the one that was cut, less than was sent; of the other, all of it."""
    made = dict.fromkeys((cut, whole), 0.0)
    for event in wire.heard_of("response.output_audio.delta"):
        made[event["response_id"]] += len(event["delta"]) * 3 / 4 / 48
    acks = {
        response: [a["played_ms"] for a in wire.sent_of("playback.ack") if a["response_id"] == response]
        for response in made
    }
    assert acks[cut] == sorted(acks[cut])
    assert 0 < acks[cut][-1] < made[cut]
    assert abs(acks[whole][-1] - made[whole]) < 100


@pytest.mark.timeout_s(40)
def test_the_plug_is_pulled_and_the_page_comes_back(tabs: Open, shoot: Shoot) -> None:
    """The server resets the connection; the session waits in grace; what was missed comes, each piece once."""
    with serving("--scripted", str(FRAMES)) as address:
        page = tabs(permissions=["microphone"]).new_page()
        wire = Wire(page)
        page.goto(f"{address}/talk")
        speak(page)
        wait_lit(page, "response", "DRAINING")
        page.click("#plug")
        page.wait_for_selector("#status[data-is=lost]")
        wait_lit(page, "attachment", "DETACHED")
        assert lit(page, "lease") == ["GRACE"]
        assert "attachment ATTACHED → DETACHED TransportLost: plug_pulled" in steps(page)
        page.emulate_media(color_scheme="dark")
        shoot(page, "talk-dark")
        page.click("#back")
        wait_lit(page, "attachment", "ATTACHED")
        assert lit(page, "lease") == ["HELD"]
        assert wire.heard_of("session.resumed")[0]["attachment_generation"] == 2
        page.wait_for_selector(".bubble.reply:not([aria-busy])")
        numbers = [event["server_event_seq"] for event in wire.heard if "server_event_seq" in event]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(wire.heard_of("response.output_audio.delta")) == FRAMES
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        shoot(page, "talk-phone")


@pytest.mark.timeout_s(40)
def test_the_interrupt_button_silences_at_once_and_tells_what_was_heard(tabs: Open) -> None:
    """First what was played is told, then what is left is cleared, here and on the server."""
    with serving("--scripted", str(FRAMES), "--ahead", str(FRAMES)) as address:
        page = tabs(permissions=["microphone"]).new_page()
        wire = Wire(page)
        page.goto(f"{address}/talk")
        speak(page)
        wire.until_heard()
        made = len(wire.heard_of("response.output_audio.delta")) * 40
        page.click("#interrupt")
        page.wait_for_selector("#interrupt:disabled")
        sent = [message["type"] for message in wire.sent]
        assert sent[sent.index("output_audio_buffer.clear") - 1] == "playback.ack"
        assert 0 < wire.sent_of("playback.ack")[-1]["played_ms"] < made
        page.click("#end")
        page.wait_for_selector("#status[data-is=over]")
        assert len(wire.heard_of("output_audio_buffer.cleared")) == 1


@pytest.mark.timeout_s(40)
def test_another_tab_takes_over(tabs: Open) -> None:
    """The second tab goes on where the first one was when it handed over; the first is told, and can do no more."""
    with serving("--scripted", str(FRAMES)) as address:
        window = tabs(permissions=["microphone"])
        first, second = window.new_page(), window.new_page()
        wires = Wire(first), Wire(second)
        first.goto(f"{address}/talk")
        second.goto(f"{address}/talk")
        speak(first)
        wait_lit(first, "response", "DRAINING")
        second.click("#take")
        second.wait_for_selector("#status[data-is=open]")
        first.wait_for_selector("#status[data-is=taken]")
        wait_lit(second, "attachment", "ATTACHED")
        assert [event["type"] for event in wires[0].heard][-1] == "session.replaced"
        assert first.is_disabled("#plug")
        assert first.is_disabled("#back")
        second.wait_for_selector("#state-response-COMPLETED.was", state="attached")
        assert "as the script says" in second.inner_text(".bubble.you")
        heard = [[e["server_event_seq"] for e in wire.heard_of("response.output_audio.delta")] for wire in wires]
        assert all(numbers == sorted(set(numbers)) for numbers in heard)
        assert len(set(heard[0]) | set(heard[1])) == FRAMES
        second.click("#end")
        second.wait_for_selector("#status[data-is=over]")


@pytest.mark.timeout_s(40)
def test_the_page_is_worked_by_keyboard_and_told_to_a_screen_reader(tabs: Open) -> None:
    """Every control is reached by Tab, has a name and does its work on Enter or Space; what changes is announced."""
    with serving("--scripted", str(FRAMES)) as address:
        page = tabs(permissions=["microphone"]).new_page()
        page.goto(f"{address}/talk")
        page.wait_for_selector("body[data-ready]")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "talk"
        page.keyboard.press("Space")
        page.wait_for_selector("#status[data-is=open]")
        assert page.get_attribute("#talk", "aria-pressed") == "true"
        reached = []
        for _ in range(6):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
        assert reached[:4] == ["commit", "plug", "end", "said"]
        tree = page.locator("main").aria_snapshot()
        for role in (
            'button "Mute" [pressed]',
            'button "Pull the plug"',
            'log "Transcript"',
            'meter "you"',
            'heading "Last transitions"',
        ):
            assert role in tree
        assert (
            page.locator("header").get_by_role("status").inner_text()
            == "Connected. Speak; half a second of silence ends your turn."
        )
        page.focus("#plug")
        page.keyboard.press("Enter")
        page.wait_for_selector("#back:focus")
        page.keyboard.press("Enter")
        page.wait_for_selector("#plug:focus")
        page.focus("#end")
        page.keyboard.press("Enter")
        page.wait_for_selector("#status[data-is=over]")


@pytest.mark.timeout_s(40)
def test_a_key_is_asked_for_and_a_session_that_has_expired_is_told(tabs: Open, tmp_path: Path) -> None:
    """Where no session comes of it, the page says so, and what can be done."""
    keys = tmp_path / "keys"
    keys.write_text("page:a key of some length".replace(" ", "-"))
    with serving("--scripted", "5", "--keys-file", str(keys), "--set", "grace_s=0.2") as address:
        page = tabs(permissions=["microphone"], expects_errors=True).new_page()
        page.goto(f"{address}/talk")
        page.click("#talk")
        page.wait_for_selector("#status[data-is=over]")
        page.fill("#key", "a-key-of-some-length")
        page.click("#talk")
        page.wait_for_selector("#status[data-is=open]")
        page.click("#plug")
        wait_lit(page, "lease", "CLOSED")
        page.click("#back")
        page.wait_for_selector("#status[data-is=over]")
        assert "session_resume_expired" in page.inner_text("#said .remark")
        page.click("#talk")
        page.wait_for_selector("#status[data-is=open]")


def speak(page: Page) -> None:
    """Say something to a scripted server, and mute the microphone, so that the answer is not interrupted."""
    page.click("#talk")
    page.wait_for_selector("#status[data-is=open]")
    page.wait_for_selector(".bubble.you.listening")
    page.click("#talk")
    page.click("#commit")
