"""What a trace costs, and how fast it is judged.

Recording, in units of one `json.dumps` of a 4 KB audio delta, which is what a server does anyway for the event that it
records: a control event (a turn, with four deliveries) and one of the data plane (an output delta), each with the
recorder off, in memory, and into compressed files. The cost is that of one call of the runtime's own `note`.

Replay: a trace of 1,000,000 events, made by the scripted host on the jumping clock and repeated as sessions of other
names, is judged by `interlock replay` as a process of its own. Every event conforms, or the benchmark fails.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from interlock.machine import Message
from interlock.observe.files import Files
from interlock.observe.trace import Trace
from interlock.runtime.perform import note
from interlock.runtime.silent import Silent
from interlock.session.books import Produced
from interlock.session.decide import Decision, decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import messages as m

RESULTS = Path(__file__).parent / "results"
ROUNDS = 7
DELTA = {"type": "response.output_audio.delta", "event_id": "event_1234", "server_event_seq": 1234, "delta": "A" * 4000}
TARGET_S = 60.0


def timed(function: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - began) / times


# ------------------------------------------------------------------------------------------------------- recording


def a_session() -> tuple[tuple[Value, Message, Decision], tuple[Value, Message, Decision]]:
    """Return a control event and one of the data plane, each with the value before it and what it does."""
    value = new_value("sess_Zm9ydHktdHdvIGlz", Settings())
    stages = ("mind", "voice")
    turn = m.TurnHeard("resp_Zm9ydHktdHdvIGlz_1", stages)
    events = [m.Prepared(1, b"x" * 32), m.ActivationDelivered(1), m.ReplayDelivered(1)]
    for event in events:
        value = decide(value, event).value
    control = value, turn, decide(value, turn)
    value = control[2].value
    for stage in stages:
        name = f"{turn.response_id}.{stage}"
        for event in (m.WorkerAssigned(name, 1), m.SubmitAccepted(name, 1)):
            value = decide(value, event).value
    delta = Produced(f"{turn.response_id}.voice", 1, 1, 40.0)
    return control, (value, delta, decide(value, delta))


def recorded(host: Any, before: Value, event: Message, decision: Decision) -> Callable[[], None]:
    """Return what the driver does for each event; times and positions move on as they would."""
    now, journal = [1000.0], [before.journal.head]

    def once() -> None:
        now[0] += 0.0387
        journal[0] += 1
        after = decision.value._replace(journal=decision.value.journal._replace(head=journal[0]))
        moved = decision._replace(value=after)
        note(host, lambda record: record.decided(now[0], before, event, moved))

    return once


def recording(folder: Path) -> dict[str, dict[str, float]]:
    """Return microseconds an event, medians over alternating rounds."""
    control, delta = a_session()
    into_files = Trace(folder)
    recorders: dict[str, Any] = {"off": Silent(), "in memory": Trace(), "into files": into_files}
    found: dict[str, dict[str, list[float]]] = {
        kind: {name: [] for name in recorders} for kind in ("json.dumps", "control", "data plane")
    }
    for _ in range(ROUNDS):
        for name, recorder in recorders.items():
            host = SimpleNamespace(record=recorder)
            found["json.dumps"][name].append(timed(lambda: json.dumps(DELTA), 5_000))
            found["control"][name].append(timed(recorded(host, *control), 5_000))
            found["data plane"][name].append(timed(recorded(host, *delta), 20_000))
            assert host.record is recorder
    into_files.close()
    return {
        kind: {name: statistics.median(values) * 1e6 for name, values in row.items()} for kind, row in found.items()
    }


# ---------------------------------------------------------------------------------------------------------- replay


def a_talk(folder: Path) -> bytes:
    """Let the scripted host speak, be interrupted, lose and resume; return the trace's lines."""
    import trio
    import trio.testing

    from tests.proof.replay_story import live

    async def main() -> None:
        from tests.runtime.stage_play import play

        async with play(frames=50, record=trace) as scene:
            session, transport = await scene.open()
            for turn in range(1, 21):
                session.append(b"\0\1" * 480)
                session.commit()
                await scene.until(session, lambda d, turn=turn: sum(e.ended for e in d.value.playback) >= min(turn, 16))
                await trio.sleep(1)
                session.ack(max(transport.numbers))
                if turn % 4 == 0:
                    session.barge_in()
            session.close()
        await live(trace)

    trace = Trace(folder)
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    trace.close()
    return b"".join(gzip.decompress(path.read_bytes()) for path in sorted(folder.iterdir()))


def repeated(lines: list[bytes], events: int) -> Iterator[bytes]:
    """Yield the records of many sessions: the same ones under other names, each line sealed again."""
    from interlock.observe.record import sealed

    plain = [json.loads(line) for line in lines]
    names = sorted({record["session"].removeprefix("sess_") for record in plain})
    per_round = sum("event" in record for record in plain)
    texts = []
    for record in plain:
        record.pop("crc")
        texts.append(json.dumps(record, separators=(",", ":")))
    whole = "\n".join(texts)
    for number in range(-(-events // per_round)):
        text = whole
        for index, name in enumerate(names):
            text = text.replace(name, f"{number:07}_{index:02}_{name[10:]}")
        for line, record in zip(text.split("\n"), plain, strict=True):
            moved = json.loads(line)
            moved["at"] = round(record["at"] + number * 1000, 6)
            yield sealed(moved)


def million(folder: Path, events: int) -> tuple[float, int, int]:
    """Write a long trace; return its seconds under replay, its events and its bytes on the disk."""
    (folder / "talk").mkdir()
    (folder / "long").mkdir()
    lines = a_talk(folder / "talk").splitlines(keepends=True)
    files = Files(folder / "long", 64 * 1024 * 1024, 100)
    files.rotate()
    for line in repeated(lines[1:-1], events):
        files.write(line)
    files.finish()
    size = sum(path.stat().st_size for path in (folder / "long").iterdir())
    began = time.perf_counter()
    command = [sys.executable, "-m", "interlock", "replay", str(folder / "long"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    seconds = time.perf_counter() - began
    report = json.loads(done.stdout)
    assert report["verdict"] == "conforms", report["findings"][:3]
    return seconds, report["events"], size


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\n+", " ", __doc__ or ""))
    parser.add_argument("--events", type=int, default=1_000_000, help="events to replay (default: 1,000,000)")
    events = parser.parse_args().events
    with TemporaryDirectory() as name:
        rows = recording(Path(name))
        unit = statistics.mean(rows["json.dumps"].values())
        print(f"one json.dumps of a delta of 4 KB: {unit:.2f} us\n")
        print(f"{'one event, recorded':22}{'off':>10}{'in memory':>14}{'into files':>14}{'costs':>10}")
        for kind in ("control", "data plane"):
            row = rows[kind]
            cost = row["cost in dumps"] = round((row["into files"] - row["off"]) / unit, 2)
            values = f"{row['off']:7.2f} us{row['in memory']:11.2f} us{row['into files']:11.2f} us{cost:6.2f} dumps"
            print(f"{kind:22}{values}")
        seconds, judged, size = million(Path(name), events)
    rate = judged / seconds
    print(f"\nreplay: {judged:,} events in {seconds:.1f} s, {rate:,.0f} a second; {size / judged:.1f} bytes an event")
    print(f"target: {TARGET_S:.0f} s for 1,000,000; at this rate {1_000_000 / rate:.1f} s")
    RESULTS.mkdir(exist_ok=True)
    where = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    found = {
        "where": where,
        "recording_us": {kind: {n: round(v, 3) for n, v in row.items()} for kind, row in rows.items()},
        "json_dumps_us": round(unit, 3),
        "replay": {
            "events": judged,
            "seconds": round(seconds, 2),
            "events_a_second": round(rate),
            "bytes_an_event": round(size / judged, 1),
        },
    }
    (RESULTS / "trace.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
