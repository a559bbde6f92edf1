"""``openai-agents`` for Python: it validates every event strictly, and does not reconnect."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any

from agents.realtime import RealtimeAgent, RealtimeRunner
from agents.realtime.model_inputs import RealtimeModelSendRawMessage
from websockets.exceptions import ConnectionClosed

from tests.clients.puppets.strings import close_code, pulled, tell, tell_event, verbs


async def main(origin: str, turns: str, query: str = "") -> None:
    url = f"{origin}/v1/realtime?model=echo{query}"
    runner = RealtimeRunner(RealtimeAgent(name="echo", instructions="Say it again."))
    config: Any = {"api_key": "no-key", "url": url}
    if turns == "manual":
        config["initial_model_settings"] = {"audio": {"input": {"turn_detection": None}}}
    code = None
    try:
        async with await runner.run(model_config=config) as session, pulled(obey(session)):
            async for event in session:
                show(event)
    except* ConnectionClosed as lost:
        code = close_code(lost)
    tell("puppet.ended", code=code)


def show(event: Any) -> None:
    """Tell the server's events as they came, and the SDK's own, by their names."""
    if event.type == "raw_model_event":
        if event.data.type == "raw_server_event":
            tell_event(event.data.data)
    elif event.type == "error":
        tell("puppet.error", text=str(event.error))
    else:
        tell(f"agents.{event.type}")


async def obey(session: Any) -> None:
    async for verb in verbs():
        match verb:
            case {"do": "append", "audio": audio}:
                await session.send_audio(base64.b64decode(audio))
            case {"do": "message", "text": text}:
                await session.send_message(text)
            case {"do": "interrupt"}:
                await session.interrupt()
            case {"do": "close"}:
                await session.close()
            case {"do": "commit"}:
                await raw(session, "input_audio_buffer.commit")
            case {"do": "create"}:
                await raw(session, "response.create")
            case {"do": "cancel"}:
                await raw(session, "response.cancel")
            case _:
                raise ValueError(verb)


async def raw(session: Any, kind: str) -> None:
    """Send what the session has no method for, the way its documentation says."""
    await session.model.send_event(RealtimeModelSendRawMessage(message={"type": kind}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
