"""Interlock inside a FastAPI app: ``uvicorn embed_fastapi:app``, with any loop. Clients speak to /v1/realtime."""

from contextlib import asynccontextmanager

from fastapi import FastAPI

from interlock import EchoPipeline, StageFleet, echo_stages
from interlock.embed import Runtime

pipeline = EchoPipeline()
runtime = Runtime(pipeline, StageFleet(echo_stages()))


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with runtime:
        await runtime.wait_ready(pipeline.listen, *pipeline.answer)
        yield
    print(f"owed: {runtime.owed()}")


app = FastAPI(lifespan=lifespan)
app.mount("/v1", runtime.asgi())


@app.get("/books")
async def books():  # `async`, so that it runs where the runtime lives, and not in a thread
    return {"owed": runtime.owed(), "limits": runtime.limits()}
