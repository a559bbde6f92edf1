"""A storm: sessions that drop and resume at random for two minutes, and what each reads is every event, once, in order.

The server is ``interlock serve --scripted``, a process of its own: every session is answered at the pace of two frames
of 4.3 KB a second, and is sent as many. The clients share one process beside it, on the same two cores. Each session's
connection is reset about once in ``EVERY_S``, mid-frame or not, and comes back after up to ``AWAY_S`` with its token
and its position. Afterwards every session is closed, and the server's books are read: nothing may be left.

Then what a detached session costs: resident memory of the server before and after, for sessions at rest, and exactly,
by tracemalloc, in a process of its own, with the tasks counted; less the bytes that their journals hold.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
import tracemalloc
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio
import trio.testing
from event_path_core import Sink
from storm_client import Storm

from interlock.runtime.host import open_host
from interlock.session.settings import Settings
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

RESULTS = Path(__file__).parent / "results"
SESSIONS, SECONDS, EVERY_S, AWAY_S, PACE_S = 1000, 120.0, 20.0, 3.0, 0.5
BROKEN = ("lost", "repeated_or_late", "errors", "hung_up_on")
SERVERS = {"as it is": [], "without pages": ["--set", "pages.talk=false"]}
"""Pages keep the first records of each session, to show how it began."""
JOURNAL = ("wire/outbound", "wire/lifecycle", "session/journal")
"""Where the frames of a journal and its entries are made."""
HELD = ("owed", "slots", "sessions", "requests", "journal_bytes", "input_bytes", "defects")


class Server:
    """``interlock serve --scripted``, and what the system says of its process."""

    def __init__(self, sessions: int, frames: int, pace_s: float, options: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "interlock", "serve", "--port", "0", "--debug", "--scripted", str(frames)]
        command += ["--ahead", "1", "--log-level", "warning", "--set", f"max_sessions={sessions}"]
        command += ["--set", f"socket.max_connections={2 * sessions + 64}", "--set", "frame_ms=64"]
        command += ["--set", f"pace_ms={round(pace_s * 1000)}"]
        command += options
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.port: int = json.loads(line)["port"]

    def resident(self) -> int:
        """Return the bytes of the process that are in memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def cpu_s(self) -> float:
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def books(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/debug/books", timeout=30) as page:
            found: dict[str, Any] = json.load(page)
        return found

    def stop(self) -> tuple[int, dict[str, Any]]:
        """Return the exit code, and the books of the last line."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, json.loads(out.splitlines()[-1])


class Watch:
    """What there was each second, for the figure."""

    def __init__(self, server: Server, storm: Storm) -> None:
        self.server = server
        self.storm = storm
        self.rows: list[dict[str, float]] = []
        self._began, self._before, self._cpu = time.monotonic(), Counter[str](), server.cpu_s()

    def look(self) -> None:
        told, cpu = Counter(self.storm.told), self.server.cpu_s()
        since = {name: told[name] - self._before[name] for name in ("frames", "sent", "drops", "resumed")}
        there = sum(client.line is not None for client in self.storm.clients)
        row = {"s": round(time.monotonic() - self._began, 1), **since, "attached": there}
        row |= {"server_cpu": round(cpu - self._cpu, 3), "server_mb": round(self.server.resident() / 2**20, 1)}
        self.rows.append(row)
        self._before, self._cpu = told, cpu
        if len(self.rows) % 10 == 0:
            print("  " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


async def storm(server: Server, sessions: int, seconds: float, every_s: float) -> tuple[Storm, Watch]:
    storm = Storm(server.port, sessions, pace_s=PACE_S)
    await storm.open()
    watch = Watch(server, storm)
    await storm.begin()
    await storm.talk(seconds, every_s, AWAY_S, watch.look)
    await storm.close()
    return storm, watch


def blow(sessions: int, seconds: float, every_s: float) -> dict[str, Any]:
    """Run the storm; return what was told, the books after it, and how the server ended."""
    server = Server(sessions, frames=10 * round(seconds / PACE_S), pace_s=PACE_S)
    began, cpu = time.monotonic(), server.cpu_s()
    try:
        found, watch = asyncio.run(storm(server, sessions, seconds, every_s))
        books = server.books()
        spent = time.monotonic() - began, server.cpu_s() - cpu
    finally:
        code, last = server.stop()
    told = dict(found.told)
    row: dict[str, Any] = {"sessions": sessions, "seconds": seconds, **told}
    row |= {name: told.get(name, 0) for name in BROKEN}
    row |= {"client_late_s_most": round(found.latest, 3), "server_core_share": round(spent[1] / spent[0], 2)}
    row["books_after"] = {name: books[name] for name in HELD}
    row["exit_code"], row["owed_at_exit"] = code, last["owed"]
    row["whole"] = is_whole(row)
    row["each_second"] = watch.rows
    return row


def is_whole(row: dict[str, Any]) -> bool:
    """Say whether every event came once and in order, every session ended, and nothing is left on the books."""
    clean = not any(row[name] for name in BROKEN)
    empty = not any(row["books_after"].values()) and not row["owed_at_exit"] and row["exit_code"] == 0
    return clean and empty and row["terminals"] == row["sessions"]


def resident(sessions: int, options: list[str]) -> float:
    """Return the kilobytes that a detached session, which never spoke, adds to a server's resident memory."""

    async def come_and_go(server: Server, count: int) -> None:
        storm = Storm(server.port, count)
        await storm.open()
        for client in storm.clients:
            client.drop()
        await asyncio.sleep(2.0)

    server = Server(2 * sessions, 1, PACE_S, options)
    try:
        asyncio.run(come_and_go(server, sessions))
        before = server.resident(), server.books()["sessions"]
        asyncio.run(come_and_go(server, sessions))
        after = server.resident(), server.books()["sessions"]
    finally:
        server.stop()
    assert after[1] - before[1] == sessions, (before, after)
    return round((after[0] - before[0]) / sessions / 1024, 2)


async def _traced(sessions: int, frames: int) -> dict[str, Any]:
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script, fleet[MIND].script = Script(transcript="go on"), Script(texts=("on",))
    fleet[VOICE].script = Script(frames=frames, ahead=frames, samples=1536, begins="input")
    settings = Settings(max_sessions=sessions + 10)
    async with open_host(EchoPipeline(), fleet, settings) as host:
        await _leave(host, 10, frames)
        gc.collect()
        tasks, before = trio.lowlevel.current_statistics().tasks_living, traced_now()
        await _leave(host, sessions, frames)
        gc.collect()
        size, journal = (now - then for now, then in zip(traced_now(), before, strict=True))
        added = trio.lowlevel.current_statistics().tasks_living - tasks
    beyond = (size - journal) / sessions / 1024
    return {"journal_kb_each": round(journal / sessions / 1024, 1), "beyond_kb_each": round(beyond, 2), "tasks": added}


def traced_now() -> tuple[int, int]:
    """Return the bytes that are held, and those of them that are frames and their entries in a journal."""
    only = [tracemalloc.Filter(True, f"*/interlock/{name}.py") for name in JOURNAL]
    statistics = tracemalloc.take_snapshot().filter_traces(only).statistics("filename")
    return tracemalloc.get_traced_memory()[0], sum(one.size for one in statistics)


async def _leave(host: Any, count: int, frames: int) -> None:
    """Open sessions, have each say its frames, and detach them."""
    sessions = [await host.open(Sink()) for _ in range(count)]
    if frames:
        for session in sessions:
            session.append(b"\1\0" * 64)
            session.commit()
            await session._driver.room.wait_for(lambda d=session._driver: any(e.ended for e in d.value.playback))
    for session in sessions:
        session.detach()
    del sessions
    await trio.testing.wait_all_tasks_blocked()


def traced(sessions: int = 1000) -> dict[str, Any]:
    """Return what detached sessions hold, by tracemalloc: without a journal, and beyond one of ten frames."""
    tracemalloc.start()
    found = {"idle": trio.run(_traced, sessions, 0), "spoke": trio.run(_traced, sessions, 10)}
    tracemalloc.stop()
    return found


def plot(row: dict[str, Any], rows: list[dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    at = [each["s"] for each in rows]
    figure, (top, middle, bottom) = pyplot.subplots(3, sharex=True, figsize=(8, 6), layout="constrained")
    top.plot(at, [each["frames"] for each in rows], color="#4878a8", label="read")
    top.plot(at, [each["sent"] for each in rows], color="#d08040", label="sent")
    top.set_ylabel("frames of 4.3 KB a second")
    middle.plot(at, [each["attached"] for each in rows], color="#4878a8", label="attached")
    middle.plot(
        at, [sum(e["drops"] for e in rows[: n + 1]) for n in range(len(rows))], color="#d08040", label="drops so far"
    )
    middle.set_ylabel("sessions, drops")
    bottom.plot(at, [each["server_cpu"] for each in rows], color="#4878a8", label="server, cores")
    bottom.plot(at, [each["server_mb"] / 100 for each in rows], color="#d08040", label="resident, 100 MB")
    bottom.set_xlabel("seconds")
    for axes in (top, middle, bottom):
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, loc="lower right", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    top.set_title(f"{row['sessions']} sessions: {row['events']:,} events, {row['drops']:,} drops, {row['lost']} lost")
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--every", type=float, default=EVERY_S, metavar="S", help="a connection lasts about so long")
    parser.add_argument("--only", choices=("storm", "memory"), help="do one of the two; the other's result stays")
    parser.add_argument("--try", dest="trial", action="store_true", help="print the storm, and write no result")
    args = parser.parse_args()
    soft = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
    path = RESULTS / "storm.json"
    whole: dict[str, Any] = json.loads(path.read_text()) if args.only and path.exists() else {}
    whole["where"] = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    is_well = True
    if args.only != "memory":
        row = blow(args.sessions, args.seconds, args.every)
        is_well, seconds = row["whole"], row.pop("each_second")
        print(json.dumps(row, indent=1))
        if args.trial:
            return 0 if is_well else 1
        plot(row, seconds, RESULTS / "storm.svg")
        row |= {"books_after": sum(map(bool, row["books_after"].values())), "owed_at_exit": len(row["owed_at_exit"])}
        whole["storm"] = row
    if args.only != "storm":
        each = {name: resident(args.sessions, options) for name, options in SERVERS.items()}
        whole["memory"] = {"resident_kb": each, **traced()}
        print(json.dumps(whole["memory"], indent=1))
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(whole, indent=2) + "\n")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
