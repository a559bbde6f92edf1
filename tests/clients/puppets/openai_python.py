"""``openai`` for Python: the official client, which reconnects by itself and asks what to add to the query."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI
from websockets.exceptions import ConnectionClosed

from tests.clients.puppets.strings import Place, close_code, pulled, tell, tell_event, verbs

BY_HAND: Any = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}


async def main(origin: str, turns: str) -> None:
    client = AsyncOpenAI(api_key="no-key", websocket_base_url=f"{origin}/v1")
    place = Place()

    def on_reconnecting(event: Any) -> Any:
        tell("puppet.reconnecting", code=event.close_code, attempt=event.attempt)
        return {"extra_query": place.query()}

    reconnect: Any = {"on_reconnecting": on_reconnecting, "initial_delay": 0.05, "max_delay": 0.2, "max_retries": 100}
    code = None
    try:
        async with client.realtime.connect(model="echo", **reconnect) as connection, pulled(obey(connection)):
            async for event in connection:
                seen = event.to_dict()
                place.note(seen)
                tell_event(seen)
                if seen["type"] == "session.created" and turns == "manual" and not seen.get("resumed"):
                    await connection.session.update(session=BY_HAND)
    except* ConnectionClosed as lost:
        code = close_code(lost)
    tell("puppet.ended", code=code)


async def obey(connection: Any) -> None:
    async for verb in verbs():
        match verb:
            case {"do": "append", "audio": audio}:
                await connection.input_audio_buffer.append(audio=audio)
            case {"do": "commit"}:
                await connection.input_audio_buffer.commit()
            case {"do": "create"}:
                await connection.response.create()
            case {"do": "cancel"}:
                await connection.response.cancel()
            case {"do": "close"}:
                await connection.close()
            case _:
                raise ValueError(verb)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
