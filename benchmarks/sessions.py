"""How many sessions one machine sustains in real time: spoken ones with real models, and scripted ones without.

The server is a process of its own, and so are its workers; the clients of all sessions share one more process on the
same machine, so that this is a floor, not a ceiling.

* ``spoken``: every client says a recording of a human, at its pace, and waits for the answer, over and over. Sustained
  means that nine of ten answers are whole and begin within ``ANSWER_S`` of the end of the turn, as the server heard it,
  and that none runs dry once it plays.
* ``scripted``: every client is sent 25 frames a second. Sustained means that 99 of 100 frames come no more than
  ``LATE_S`` later after the one before than the 40 ms that they last.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import trio

from interlock.demo import recordings
from interlock.demo.server import serving
from interlock.transport.client import Client, open_client

RESULTS = Path(__file__).parent / "results"
SPOKEN, SCRIPTED = (1, 2, 4, 6, 8, 12), (25, 50, 100, 200, 400)
TALK_S = 14.0
FRAME_S = 0.02
PAUSE_S = 0.8
ANSWER_S, DRY_S, LATE_S = 1.0, 0.1, 0.06
SCRIPTED_FRAMES = 125
AUDIO, DONE = "response.output_audio.delta", "response.done"
STOPPED = "input_audio_buffer.speech_stopped"
SESSION = {"input_audio_format": {"type": "audio/pcm", "rate": recordings.RATE}}


class Heard(NamedTuple):
    """One answer: from the end of the turn to its first frame, and how long its listener had nothing to hear."""

    answer_s: float
    dry_s: float


async def speak(client: Client, pcm: bytes) -> None:
    """Say a recording at its pace."""
    size, due = round(recordings.RATE * FRAME_S) * 2, trio.current_time()
    for start in range(0, len(pcm), size):
        due += FRAME_S
        await trio.sleep_until(due)
        await client.append(pcm[start : start + size].ljust(size, b"\0"))


async def be_silent(client: Client, scope: trio.CancelScope) -> None:
    with scope:
        while True:
            await trio.sleep(FRAME_S * 4)
            await client.append(bytes(round(recordings.RATE * FRAME_S) * 8))


class Ear:
    """Notes when each event of one client has arrived."""

    def __init__(self, client: Client) -> None:
        self.noted: list[tuple[float, dict[str, Any]]] = []
        self._client = client
        self._changed = trio.Event()

    async def run(self) -> None:
        async for event in self._client:
            self.noted.append((trio.current_time(), event))
            self._changed.set()
            self._changed = trio.Event()

    async def answer(self, start: int) -> Heard:
        """Hear one answer to its end, from the event ``start`` on; one that does not come counts as a long wait."""
        with trio.move_on_after(20):
            while not any(event["type"] == DONE for _, event in self.noted[start:]):
                await self._changed.wait()
        return judged(self.noted[start:])


def judged(noted: list[tuple[float, dict[str, Any]]]) -> Heard:
    """Return how long after the end of the turn the answer began, and how long it ran dry; 20 s for one cut short."""
    stopped = next((at for at, event in noted if event["type"] == STOPPED), None)
    first, played, dry = 0.0, 0.0, 0.0
    for now, event in noted:
        if event["type"] == AUDIO:
            first = first or now
            dry = max(dry, now - (first + played))
            played += len(base64.b64decode(event["delta"])) / 48_000
        elif event["type"] == DONE and event["response"]["status"] == "completed" and stopped is not None and first:
            return Heard(first - stopped, dry)
    return Heard(20.0, dry)


async def converse(url: str, number: int, heard: list[Heard]) -> None:
    """One client, for ``TALK_S``; it begins a little later than the one before."""
    said = recordings.load(recordings.find_folder(None))
    await trio.sleep(0.37 * number)
    end, turn = trio.current_time() + TALK_S, number
    async with open_client(url, SESSION) as client, trio.open_nursery() as nursery:
        ear = Ear(client)
        nursery.start_soon(ear.run)
        while trio.current_time() < end:
            start = len(ear.noted)
            await speak(client, said[turn % len(said)].pcm)
            async with trio.open_nursery() as silence:
                scope = trio.CancelScope()
                silence.start_soon(be_silent, client, scope)
                heard.append(await ear.answer(start))
                scope.cancel()
            turn += 1
            await trio.sleep(PAUSE_S)
        await client.close()
        nursery.cancel_scope.cancel()


async def listen(url: str, number: int, lates: list[float]) -> None:
    """One scripted client: ask, and note how late each frame of the answer is after the one before."""
    await trio.sleep(0.007 * number)
    async with open_client(url, SESSION) as client:
        await client.append(b"\x01\x00" * 320)
        await client.commit()
        before = 0.0
        async for event in client:
            if event["type"] == AUDIO:
                now = trio.current_time()
                if before:
                    lates.append(now - before - 0.04)
                before = now
            elif event["type"] == DONE:
                break
        await client.close()


async def load(options: list[str], count: int, one: Callable[[str, int, list[Any]], Awaitable[None]]) -> list[Any]:
    """Run so many clients against a server of their own."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "trace").mkdir()
        async with serving(Path(folder), [*options, "--set", f"max_sessions={count}"], lambda _: None) as server:
            async with trio.open_nursery() as nursery:
                for number in range(count):
                    nursery.start_soon(one, server.url, number, found)
            await server.stop()
    return found


def at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def spoken() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for count in SPOKEN:
        heard: list[Heard] = await load([], count, converse)
        row = {
            "sessions": count,
            "answers": len(heard),
            "answer_s_median": round(at([each.answer_s for each in heard], 0.5), 2),
            "answer_s_p90": round(at([each.answer_s for each in heard], 0.9), 2),
            "dry_s_most": round(max(each.dry_s for each in heard), 3),
        }
        row["sustained"] = row["answer_s_p90"] <= ANSWER_S and row["dry_s_most"] <= DRY_S
        rows.append(tell("spoken", row))
        if not row["sustained"]:
            break
    return rows


async def scripted() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for count in SCRIPTED:
        lates: list[float] = await load(["--scripted", str(SCRIPTED_FRAMES), "--ahead", "1"], count, listen)
        row = {
            "sessions": count,
            "gaps": len(lates),
            "late_ms_median": round(1000 * at(lates, 0.5), 1),
            "late_ms_p99": round(1000 * at(lates, 0.99), 1),
        }
        row["sustained"] = len(lates) == count * (SCRIPTED_FRAMES - 1) and row["late_ms_p99"] <= 1000 * LATE_S
        rows.append(tell("scripted", row))
        if not row["sustained"]:
            break
    return rows


def tell(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    print(f"{kind}: " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("spoken", "scripted"))
    only, path = parser.parse_args().only, RESULTS / "sessions.json"
    rows: dict[str, Any] = json.loads(path.read_text())["rows"] if only and path.exists() else {}
    for name, run in (("scripted", scripted), ("spoken", spoken)):
        if only in (None, name):
            rows[name] = trio.run(run)
            kept = [row["sessions"] for row in rows[name] if row["sustained"]]
            print(f"{name}: {max(kept, default=0)} sessions in real time")
    RESULTS.mkdir(exist_ok=True)
    where = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    path.write_text(json.dumps({"where": where, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
