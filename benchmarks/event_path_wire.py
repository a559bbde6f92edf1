"""The event path end to end: real servers, each alone on one core, and a client on another that only counts.

The client reads into one buffer, and looks at what it has read when the clock has stopped: every frame whole, every
number in its place. Servers run side by side and are asked in turns, so that whatever else the machine does meets all.
A server's own seconds are read from its process clock: at its full load they are what its core can do.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from event_path_server import FRAMES

HERE = Path(__file__).parent
DONE = b'"response.done"'
IDLE_S = 0.03
SERVER_CORE, CLIENT_CORE = 0, max(os.sched_getaffinity(0))


class Took(NamedTuple):
    """One run: seconds on the wall and of the server's process, for so many frames."""

    wall_s: float
    cpu_s: float
    frames: int


class Socket:
    """A WebSocket client that does what is needed here and nothing else."""

    def __init__(self, port: int, path: str = "/") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(10)
        self.buffer = memoryview(bytearray(16 * 1024 * 1024))
        self.size = 0
        self.credentials: dict[str, str] = {}
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        head = [f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines = [f"GET {path} HTTP/1.1", *head, f"Sec-WebSocket-Key: {key}", "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._socket.recv(1)
        assert b" 101 " in answer.split(b"\r\n")[0], answer

    def say(self, text: str) -> None:
        """Send a message; a mask of zeros leaves it as it is."""
        data = text.encode()
        size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack("!H", len(data))
        self._socket.sendall(b"\x81" + size + bytes(4) + data)

    def read_until(self, mark: bytes) -> None:
        """Read into the buffer, from its beginning, until ``mark`` has come."""
        self.size, looked = 0, 0
        while True:
            count = self._socket.recv_into(self.buffer[self.size :])
            assert count, "the server hung up"
            self.size += count
            if mark in bytes(self.buffer[max(looked, self.size - 4096) : self.size]):
                self._keep_credentials()
                return
            looked = max(0, self.size - len(mark))

    def _keep_credentials(self) -> None:
        if b'"resume_token"' in bytes(self.buffer[: min(self.size, 4096)]):
            first = json.loads(next(self.frames()))
            self.credentials = {name: first[name] for name in ("session_id", "resume_token")}

    def frames(self) -> Iterator[bytes]:
        """Cut what was read into messages."""
        at = 0
        while at < self.size:
            size, start = self.buffer[at + 1], at + 2
            if size == 126:
                size, start = struct.unpack("!H", self.buffer[at + 2 : at + 4])[0], at + 4
            elif size == 127:
                size, start = struct.unpack("!Q", self.buffer[at + 2 : at + 10])[0], at + 10
            yield bytes(self.buffer[start : start + size])
            at = start + size

    def close(self) -> None:
        self._socket.close()


def cpu_of(pid: int) -> float:
    """Return the seconds that a process has run: its CPU-time clock, as clock_getcpuclockid(3) makes it.

    The kernel brings the clock of another process up to date when that goes to sleep, so it is given time to do so.
    """
    time.sleep(IDLE_S)
    return time.clock_gettime((~pid << 3) | 2)


class Server:
    """A child process on the server's core, and how it is asked for its frames."""

    def __init__(self, command: list[str], path: str = "/") -> None:
        self.process = subprocess.Popen(
            ["taskset", "-c", str(SERVER_CORE), sys.executable, *command], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        told = json.loads(line)
        self.port = told if isinstance(told, int) else told["port"]
        self.path = path

    def run(self, word: str) -> Took:
        """Ask a peer for its frames."""
        client = Socket(self.port, self.path)
        if word == "replay":
            client.say(word)
            client.read_until(b'"ready"')
        cpu, began = cpu_of(self.process.pid), time.perf_counter()
        client.say("resume" if word == "replay" else word)
        client.read_until(DONE)
        wall_s = time.perf_counter() - began
        took = Took(wall_s, cpu_of(self.process.pid) - cpu, FRAMES)
        count = sum(b"output_audio.delta" in frame for frame in client.frames())
        assert count == FRAMES, count
        client.close()
        return took

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Ours(Server):
    """A server of ours: a turn is committed, and its answer is the frames."""

    def run(self, word: str) -> Took:
        client = Socket(self.port, "/v1/realtime/?duplex=1" if self.path == "mounted" else "/v1/realtime?duplex=1")
        client.say('{"type":"session.update","session":{}}')
        client.read_until(b'"resume_token"')
        client.say('{"type":"input_audio_buffer.append","audio":"AQABAAEA"}')
        cpu, began = cpu_of(self.process.pid), time.perf_counter()
        client.say('{"type":"input_audio_buffer.commit"}')
        client.read_until(DONE)
        if word == "replay":
            client, began, cpu = self.again(client)
        wall_s = time.perf_counter() - began
        took = Took(wall_s, cpu_of(self.process.pid) - cpu, FRAMES)
        check(client)
        client.say('{"type":"session.close"}')
        client.read_until(b'"session.closed"')
        client.close()
        return took

    def again(self, client: Socket) -> tuple[Socket, float, float]:
        """Lose the connection, and resume from the beginning: everything is replayed."""
        credentials = client.credentials
        client.close()
        client = Socket(self.port, "/v1/realtime?duplex=1")
        cpu, began = cpu_of(self.process.pid), time.perf_counter()
        client.say(json.dumps({"type": "session.resume", **credentials, "last_received_server_event_seq": 0}))
        client.read_until(DONE)
        return client, began, cpu


def check(client: Socket) -> None:
    """Every number once and in order, and as many deltas as were asked for."""
    events = [json.loads(frame) for frame in client.frames()]
    numbers = [event["server_event_seq"] for event in events if "server_event_seq" in event]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers[:10]
    count = sum(event["type"] == "response.output_audio.delta" for event in events)
    assert count == FRAMES, count


@contextmanager
def servers() -> Iterator[dict[str, Server]]:
    """Start all of them; nothing runs while another is asked."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    os.sched_setaffinity(0, {CLIENT_CORE})
    script = str(HERE / "event_path_server.py")
    started: dict[str, Server] = {}
    try:
        for name in ("theirs", "uvicorn", "send_all", "gathered"):
            started[name] = Server([script, name])
        ours = ["-m", "interlock", "serve", "--port", "0", "--scripted", str(FRAMES), "--log-level", "warning"]
        ours += ["--set", "frame_ms=64", "--set", "pace_ms=0", "--set", "max_sessions=8", "--set", "pages.talk=false"]
        started["turn"] = Ours([*ours, "--ahead", "1"])
        started["single"] = Ours([*ours, "--ahead", str(FRAMES), "--set", "together=1"])
        started["backlog"] = Ours([*ours, "--ahead", str(FRAMES), "--set", "together=100"])
        for how in ("turn", "single", "100"):
            started[f"mounted {how}"] = Ours([script, "mounted", how], "mounted")
        yield started
    finally:
        for server in started.values():
            server.stop()
