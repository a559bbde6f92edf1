"""Interlock inside a program of yours: a host, its stages, a door, and a client that speaks to it."""

import sys
import wave
from functools import partial

import trio

from interlock import EchoPipeline, StageFleet, converse, echo_stages, open_client, open_host, serve_websockets


async def main(recording: str) -> None:
    with wave.open(recording) as wav:
        pcm = wav.readframes(wav.getnframes())  # 16 kHz mono PCM16
    async with open_host(EchoPipeline(), StageFleet(echo_stages())) as host, trio.open_nursery() as nursery:
        port = await nursery.start(partial(serve_websockets, partial(converse, host), "127.0.0.1", 0))
        async with open_client(f"ws://127.0.0.1:{port}/v1/realtime") as client:
            await client.append(pcm + bytes(16_000))  # and half a second of silence, which ends the turn
            async for event in client:
                if event["type"] == "response.output_audio_transcript.done":
                    print(event["transcript"])
                elif event["type"] == "response.done":
                    break
            await client.close()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
