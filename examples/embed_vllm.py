"""A server in the shape of vLLM's: one asyncio engine behind HTTP completions, and behind spoken sessions as well.

``uvicorn embed_vllm:app``. With vLLM itself, ``engine`` is an ``AsyncLLM``, and nothing else changes.
"""

from contextlib import asynccontextmanager
from uuid import uuid4

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from tiny_llm import TinyLLM

from interlock import EchoPipeline, StageFleet, echo_stages
from interlock.embed import AsyncStage, Runtime

engine = TinyLLM()
pipeline = EchoPipeline()


async def think(request, inputs):
    """Answer one turn; what is yielded is spoken as it comes."""
    async for output in engine.generate(request.params["text"], None, request.request_id):
        yield output.outputs[0].text


ears, _, voice = echo_stages()
mind = AsyncStage("mind", think, abort=engine.abort, check_health=engine.check_health)
runtime = Runtime(pipeline, StageFleet([ears, mind, voice]))


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with runtime:
        await runtime.wait_ready(pipeline.listen, *pipeline.answer)
        yield
    print(f"owed: {runtime.owed()}, running: {len(engine.running)}")


app = FastAPI(lifespan=lifespan)


@app.post("/v1/completions")
async def completions(prompt: str):
    outputs = engine.generate(prompt, None, uuid4().hex)
    return StreamingResponse((output.outputs[0].text async for output in outputs), media_type="text/plain")


app.mount("/v1", runtime.asgi())
