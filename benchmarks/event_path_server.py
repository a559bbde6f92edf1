"""The servers of event_path.py that are not ours, one a process: ``python event_path_server.py NAME``.

Each prints its port and serves one client at a time, which sends a word and is sent ``FRAMES`` frames and a last one:

* ``theirs``: the registry of event_path_peer.py, starlette, uvicorn (websockets-sansio, uvloop); each event is
  numbered, journaled and sent; on ``replay`` all of them are journaled unattached, and a resume sends them;
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


def serve_asgi(app: Any) -> None:
    import uvicorn

    config = uvicorn.Config(
        app, loop="uvloop", ws="websockets-sansio", lifespan="off", log_level="warning", ws_per_message_deflate=False
    )
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


def main(name: str) -> None:
    if name == "theirs":
        from starlette.applications import Starlette
        from starlette.routing import WebSocketRoute

        serve_asgi(Starlette(routes=[WebSocketRoute("/", theirs)]))
    elif name == "uvicorn":
        serve_asgi(ready)
    else:
        import trio

        trio.run(bare, {"send_all": 1, "gathered": 16}[name])


if __name__ == "__main__":
    main(sys.argv[1])
