"""Everything that ``interlock serve`` can be told, as one tree, each with what it is and its default.

:mod:`interlock.serve.layers` fills it from a file, the environment and the command line; docs/operations.md is the
list for people. Durations are seconds (``_s``), sizes are bytes (``_bytes``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from interlock.session.settings import MIB, Settings
from interlock.transport.limits import SocketLimits

ENV_PREFIX = "INTERLOCK_"
NESTED = "__"

Names = Annotated[tuple[str, ...], NoDecode]
"""Words. In the environment and on the command line they stand in one text, with commas between them."""


class SocketSettings(BaseModel):
    """What one connection may take, and how many there may be."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    handshake_s: float = Field(default=10.0, gt=0, description="from the accepted socket to the end of the handshake")
    ping_s: float = Field(default=20.0, gt=0, description="a client that was silent for so long is asked")
    pong_s: float = Field(default=20.0, gt=0, description="a client that does not answer is given up")
    close_s: float = Field(default=2.0, gt=0, description="from our close frame to the end of the socket")
    max_connections: int = Field(default=1024, ge=1, description="sockets; one more is reset")
    max_per_peer: int = Field(
        default=64, ge=1, description="WebSockets of one address that is not of this machine; twice the sockets"
    )
    max_per_key: int = Field(default=256, ge=1, description="WebSockets of one API key")
    messages_per_s: float = Field(default=500.0, gt=0, description="frames of one connection, pings included")
    bytes_per_s: float = Field(default=2.0 * MIB, gt=0, description="bytes that one connection may send")
    burst_s: float = Field(default=10.0, gt=0, description="so many seconds of both may come at once")

    def limits(self, frame_bytes: int) -> SocketLimits:
        """Return them as the transport takes them."""
        return SocketLimits(
            frame_bytes=frame_bytes,
            handshake_s=self.handshake_s,
            ping_s=self.ping_s,
            pong_s=self.pong_s,
            close_s=self.close_s,
            max_connections=self.max_connections,
            max_per_peer=2 * self.max_per_peer,
            messages_per_s=self.messages_per_s,
            bytes_per_s=self.bytes_per_s,
            burst_s=self.burst_s,
        )


class AccessSettings(BaseModel):
    """Who may come in. docs/security.md says what each defends against."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    keys: SecretStr = Field(default=SecretStr(""), description="API keys, as NAME:KEY or KEY, with commas between")
    keys_file: Path | None = Field(default=None, description="a file with one API key a line, as NAME:KEY or KEY")
    hook: str = Field(default="", description="module:function that is asked who a client is")
    hook_s: float = Field(default=5.0, gt=0, description="how long the hook may take; then the client is refused")
    open: bool = Field(default=False, description="serve other machines without any key")
    origins: Names = Field(default=(), description="origins of web pages that may connect, beside our own; * is all")
    hosts: Names = Field(default=(), description="names by which this server is called, beside loopback ones")
    metrics_open: bool = Field(default=False, description="/metrics needs no key, where there are keys")


class PageSettings(BaseModel):
    """Pages for people. docs/pages.md says what they show, and to whom."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    talk: bool = Field(default=True, description="serve /talk, the page to try a session with")
    inspect_token: SecretStr = Field(default=SecretStr(""), description="serve /inspect to whoever knows this token")
    inspect_token_file: Path | None = Field(default=None, description="a file whose first line is that token")
    inspect_anywhere: bool = Field(default=False, description="serve /inspect to other machines as well")


class LogSettings(BaseModel):
    """What the server writes to its error output."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["text", "json"] = Field(default="text", description="for people, or one JSON object a line")
    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="and above")


class Config(BaseSettings):
    """The whole tree. Built of values that :mod:`interlock.serve.layers` has read; it reads nothing by itself."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_nested_delimiter=NESTED, frozen=True, extra="forbid", strict=True
    )

    host: str = Field(default="127.0.0.1", description="address to listen on; loopback only where nothing is said")
    port: int = Field(default=8765, ge=0, le=65535, description="port; 0 takes a free one")
    tls_cert: Path | None = Field(default=None, description="certificate with its chain, PEM: speak TLS (wss, https)")
    tls_key: Path | None = Field(default=None, description="the certificate's key, where it is not in the same file")
    debug: bool = Field(default=False, description="answer GET /debug/books and /debug/sessions; on loopback only")
    trace: Path | None = Field(default=None, description="write every event to this folder, for interlock replay")
    workers: Literal["process", "thread"] = Field(default="process", description="where speech models run")
    mind: Path | None = Field(default=None, description="causal language model that answers, instead of an echo")
    scripted: int = Field(default=0, ge=0, description="no models: answers of so many scripted frames of 40 ms")
    ahead: int = Field(default=12, ge=0, description="with scripted: so many frames at once, before the pace")
    frame_ms: int = Field(default=40, ge=1, le=1000, description="with scripted: audio in one frame")
    pace_ms: int = Field(default=40, ge=0, le=60_000, description="with scripted: from one frame to the next")
    together: int = Field(default=14, ge=1, le=1000, description="with scripted: frames that are said in one breath")
    session: Settings = Field(default=Settings(), description="limits and durations of sessions")
    socket: SocketSettings = Field(default=SocketSettings(), description="limits of connections")
    access: AccessSettings = Field(default=AccessSettings(), description="who may come in")
    pages: PageSettings = Field(default=PageSettings(), description="pages for people")
    log: LogSettings = Field(default=LogSettings(), description="what is written to the error output")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is handed in, and nothing else: the layers are read one by one, to know what came from where."""
        return (init_settings,)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        room = self.socket.bytes_per_s * self.socket.burst_s
        if self.session.frame_bytes > room:
            raise ValueError(
                f"session.frame_bytes = {self.session.frame_bytes} is over what a connection may send at once, "
                f"socket.bytes_per_s x socket.burst_s = {room:.0f}: lower the former, or raise one of the latter"
            )
        if self.access.hook and self.access.hook_s > self.socket.handshake_s:
            raise ValueError(
                f"access.hook_s = {self.access.hook_s} is over socket.handshake_s = {self.socket.handshake_s}, "
                "in which the whole handshake has to be done: lower the former, or raise the latter"
            )
        if self.tls_key is not None and self.tls_cert is None:
            raise ValueError(f"tls_key = {self.tls_key} is the key of a certificate: name that with tls_cert")
        return self


def sections() -> dict[str, type[BaseModel]]:
    """Return the tree's branches; the trunk, with the plain options, has no name."""
    branches: dict[str, type[BaseModel]] = {"": Config}
    for name, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            branches[name] = field.annotation
    return branches
