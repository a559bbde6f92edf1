"""A server with many scripted sessions, and the inspector: what `test_inspect.py` looks at. Run as a process.

`python -m tests.browser.crowd N TOKEN` prints its port, and then keeps N sessions talking in turn, a few at a time;
some are detached, one has a stage that never confirms its clean-up. It ends when its stdin does.
"""

from __future__ import annotations

import itertools
import sys
from functools import partial

import trio

from interlock.observe.history import History
from interlock.runtime.host import Host, open_host
from interlock.runtime.silent import Silent
from interlock.runtime.talk import Session
from interlock.serve.inspector import Inspector, show_inspector
from interlock.serve.router import Router
from interlock.serve.talk import show_assets
from interlock.session.settings import Settings
from interlock.transport.endpoint import serve_websockets
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

SETTINGS = Settings(max_sessions=5000, grace_s=600.0, journal_age_s=600.0, idle_s=3600.0, abort_s=0.2, cleanup_s=0.2)
SPOKEN = b"\x01\x10" * 320
AT_ONCE = 5
EVERY_S = 0.1


async def main(count: int, token: str) -> None:
    """Serve until stdin ends."""
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script = Script(transcript="where is my order?")
    fleet[MIND].script = Script(texts=("It is ", "on its way."))
    fleet[VOICE].script = Script(frames=8, ahead=8, begins="input")
    history = History(Silent(), everything=True)
    async with open_host(EchoPipeline(), fleet, SETTINGS, history) as host, trio.open_nursery() as nursery:
        sessions = [await host.open(MemoryTransport()) for _ in range(count)]
        await stick(host, fleet)
        for session in sessions[::9]:
            session.detach("reset")
        inspector, router = Inspector(host, history, token), Router()
        show_assets(router)
        show_inspector(router, inspector, lambda handler: handler)
        nursery.start_soon(inspector.run)
        listen = partial(serve_websockets, respond=router.respond, paths=router.socket_paths)
        port = await nursery.start(partial(listen, router.handle, "127.0.0.1", 0))
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        nursery.start_soon(talk, [session for session in sessions if session.is_attached])
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        nursery.cancel_scope.cancel()


async def stick(host: Host, fleet: ScriptedFleet) -> None:
    """Leave one session with a request that its stage never gives back."""
    session = await host.open(MemoryTransport())
    session.append(SPOKEN)
    fleet[EARS].script.abort = "hang"
    session.clear_input()
    await trio.sleep(3 * SETTINGS.abort_s)


async def talk(sessions: list[Session]) -> None:
    """Let the sessions speak, some at a time, for ever."""
    for turn in itertools.count():
        for session in itertools.islice(itertools.cycle(sessions), turn * AT_ONCE, (turn + 1) * AT_ONCE):
            session.append(SPOKEN)
            session.commit()
        await trio.sleep(EVERY_S)


if __name__ == "__main__":
    trio.run(main, int(sys.argv[1]), sys.argv[2])
