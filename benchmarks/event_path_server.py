"""The servers of event_path.py that are not ours, one a process: ``python event_path_server.py NAME``.

Each prints its port and serves one client at a time, which sends a word and is sent ``FRAMES`` frames and a last one:

* ``theirs``: the registry of event_path_peer.py, starlette, uvicorn (websockets-sansio, uvloop); each event is
  numbered, journaled and sent; on ``replay`` all of them are journaled unattached, and a resume sends them;
* ``mounted HOW``: our runtime, mounted in a Starlette app under the same server; a stage on its loop makes the frames;
* ``uvicorn``: the same server; the app sends a text that is ready;
* ``send_all`` and ``gathered``: trio, a frame that is ready, header and all, with a ``send_all`` for each, or for 16.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import event_path_peer as peer

FRAMES = 1000
LAST = '{"type":"response.done"}'


def bound() -> socket.socket:
    sock = socket.create_server(("127.0.0.1", 0))
    print(sock.getsockname()[1], flush=True)
    return sock


def serve_asgi(app: Any, lifespan: str = "off") -> None:
    import uvicorn

    options: dict[str, Any] = {"loop": "uvloop", "ws": "websockets-sansio", "ws_per_message_deflate": False}
    config = uvicorn.Config(app, lifespan=lifespan, log_level="warning", **options)
    uvicorn.Server(config).run(sockets=[bound()])


async def theirs(websocket: Any) -> None:
    """One client: what it says begins what it is sent, through a registry of its own."""
    from event_path_core import TEXT
    from starlette.websockets import WebSocketDisconnect

    await websocket.accept()
    registry, number = peer.Registry(), 0
    while True:
        try:
            word = await websocket.receive_text()
        except WebSocketDisconnect:
            return
        name, number = f"s{number}", number + 1
        token = await registry.create(name, websocket.send_text)
        if word == "replay":
            await registry.detach(name)
        for seq in range(1, FRAMES + 1):
            await registry.send_event(name, peer.delta(seq, TEXT))
            if word == "turns":
                await asyncio.sleep(0)
        if word == "replay":
            await websocket.send_text('{"type":"ready"}')
            await websocket.receive_text()
            await registry.resume(name, token, 0, websocket.send_text)
        await websocket.send_text(LAST)


async def ready(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI app that sends what is ready."""
    import json

    from event_path_core import TEXT

    text = json.dumps(peer.delta(1, TEXT) | {"server_event_seq": 1}, separators=(",", ":"))
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        for _ in range(FRAMES):
            await send({"type": "websocket.send", "text": text})
        await send({"type": "websocket.send", "text": LAST})


async def bare(together: int) -> None:
    """Trio and nothing else: the handshake, then frames whose headers are made."""
    import json

    import trio
    from event_path_core import TEXT

    from interlock.transport.endpoint import no_pages
    from interlock.transport.handshake import greet
    from interlock.transport.limits import SocketLimits
    from interlock.transport.outgoing import headed

    text = json.dumps(peer.delta(1, TEXT) | {"server_event_seq": 1}, separators=(",", ":")).encode()
    data = b"".join(headed([text]) * together)

    async def talk(stream: trio.SocketStream) -> None:
        await greet(stream, SocketLimits(), ["/"], no_pages)
        while await stream.receive_some():
            for _ in range(FRAMES // together):
                await stream.send_all(data)
            await stream.send_all(b"".join(headed([text] * (FRAMES % together) + [LAST.encode()])))

    listener = trio.SocketListener(trio.socket.from_stdlib_socket(bound()))
    await trio.serve_listeners(talk, [listener])


def mounted(how: str) -> Any:
    """Return a Starlette app with our runtime in it. HOW: ``turn``, ``single``, or so many frames in a breath."""
    from contextlib import asynccontextmanager

    from event_path_core import PCM
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from embed import VOICE, Mirror, Mirrors
    from interlock.embed import Runtime
    from interlock.runtime.ports import Finished, Output
    from interlock.workers.echo import EchoPipeline

    together = int(how) if how.isdigit() else 1

    class Speaker(Mirror):
        """A voice that says its frames as soon as it is told what to say."""

        def append(self, request_id: str, payload: bytes) -> None:
            self.task = asyncio.get_running_loop().create_task(self.speak(request_id, self._fleet.speaking[1]))

        async def speak(self, request_id: str, epoch: int) -> None:
            for _ in range(0, FRAMES, together):
                outputs = [Output(request_id, epoch, "audio", PCM) for _ in range(together)]
                self._fleet.sink.reply(VOICE, self.incarnation, *outputs)
                if how == "turn":
                    await asyncio.sleep(0)
            self._fleet.sink.reply(VOICE, self.incarnation, Finished(request_id))

    fleet = Mirrors()
    fleet.links[VOICE] = Speaker(VOICE, fleet)
    runtime = Runtime(EchoPipeline(), fleet)

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        async with runtime:
            yield

    return Starlette(routes=[Mount("/v1/realtime", runtime.asgi())], lifespan=lifespan)


def main(name: str, how: str = "") -> None:
    if name == "mounted":
        serve_asgi(mounted(how), lifespan="on")
    elif name == "theirs":
        from starlette.applications import Starlette
        from starlette.routing import WebSocketRoute

        serve_asgi(Starlette(routes=[WebSocketRoute("/", theirs)]))
    elif name == "uvicorn":
        serve_asgi(ready)
    else:
        import trio

        trio.run(bare, {"send_all": 1, "gathered": 16}[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
