"""The clients that are tried, what each can do, and how a test comes to talk through one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import pytest
import trio

from tests.clients.puppet import Puppet, node, puppet, python
from tests.clients.tear import Line
from tests.serve.server import Server, server
from tests.transport.certificate import certificate


@dataclass(frozen=True)
class Client:
    """One SDK. One that ``resumes`` reconnects by itself, and lets its application say what the next URL is.

    ``losses`` is what it calls an error when it has lost its connection, and comes back.
    """

    name: str
    command: Callable[[], list[str]]
    resumes: bool = False
    reconnects: bool = False
    tls: bool = False
    losses: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


def in_python(environment: str, module: str) -> Callable[[], list[str]]:
    """Return how a puppet in Python is started."""
    return lambda: [*python(environment), f"tests.clients.puppets.{module}"]


def in_node(script: str) -> Callable[[], list[str]]:
    """Return how a puppet in JavaScript is started."""
    return lambda: [*node(), f"tests/clients/puppets/{script}"]


OPENAI: Final = Client("openai", in_python("openai", "openai_python"), resumes=True, reconnects=True)
AGENTS: Final = Client("openai-agents", in_python("openai", "openai_agents"))
NPM_OPENAI: Final = Client("npm-openai", in_node("openai_node.mjs"), resumes=True, reconnects=True, tls=True)
NPM_AGENTS: Final = Client("npm-agents-realtime", in_node("agents_node.mjs"))
LIVEKIT: Final = Client(
    "livekit-agents",
    in_python("frameworks", "livekit_agents"),
    reconnects=True,
    losses=frozenset({"connection closed", "connection error", "connection failed", "send message"}),
)
PIPECAT: Final = Client("pipecat-ai", in_python("frameworks", "pipecat_ai"))

CLIENTS: Final = (OPENAI, AGENTS, NPM_OPENAI, NPM_AGENTS, LIVEKIT)
"""All that show the server's events as they came. Pipecat shows frames instead, and has tests of its own."""


Door: TypeAlias = Literal["serve", "embed"]

DOORS: Final[Mapping[Door, Sequence[str]]] = {"serve": ("interlock", "serve"), "embed": ("tests.clients.embedded",)}
"""The two ways into a runtime, as programs."""


both_doors = pytest.mark.parametrize("door", DOORS)
both_doors_in_time = pytest.mark.parametrize("door", ["serve", pytest.param("embed", marks=pytest.mark.gate)])
"""The same, but `make test-doors` has no time for both: `make test-clients` has."""


class Stage:
    """Where clients and a server meet: the line between them can be torn, and led to another server."""

    def __init__(self, folder: Path, tls: bool, door: Door) -> None:
        self.line = Line()
        self._door = door
        self._folder = folder
        self._scheme = "wss" if tls else "ws"
        self._options: tuple[str, ...] = ()
        self.environment: Mapping[str, str] = {}
        if tls:
            issued = certificate(folder)
            self._options = ("--tls-cert", str(issued.cert), "--tls-key", str(issued.key))
            self.environment = dict.fromkeys(("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"), str(issued.authority))

    @property
    def origin(self) -> str:
        """What a client is told."""
        return f"{self._scheme}://{self.line.address}"

    async def lay_line(self, nursery: trio.Nursery) -> Line:
        """Lay another line to the server."""
        line = Line(self.line.target)
        await line.listen(nursery)
        return line

    @asynccontextmanager
    async def serve(self, *options: str) -> AsyncIterator[Server]:
        """Run a server at the other end of the line for the block."""
        async with server(self._folder / "trace", *options, *self._options, program=DOORS[self._door]) as running:
            self.line.target = running.port
            yield running

    @asynccontextmanager
    async def enter(
        self, client: Client, *arguments: str, errors: frozenset[str] = frozenset()
    ) -> AsyncIterator[Puppet]:
        """Connect a client for the block. Whatever was an error to it, its code or its text is one of ``errors``."""
        command = [*client.command(), self.origin, *arguments]
        async with puppet(client.name, *command, environment=self.environment) as talking:
            yield talking
            told = [event["error"]["code"] for event in talking.seen("error")]
            told += [event["text"] for event in talking.seen("puppet.error")]
            wrong = [text for text in told if not any(known in text for known in errors)]
            assert not wrong, f"{client.name} was told of errors: {wrong}"


async def stage(nursery: trio.Nursery, folder: Path, *, tls: bool = False, door: Door = "serve") -> Stage:
    """Set the stage, without a server yet, and without a client."""
    setting = Stage(folder, tls, door)
    await setting.line.listen(nursery)
    return setting
