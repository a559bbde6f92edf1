"""Every limit and every duration, with defaults that serve (docs/configuration.md), checked against each other."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MIB = 1024 * 1024

STEPS_A_REQUEST = 10
"""Deliveries that a request may cost in one run; a session must always be able to end with all of them."""


class Settings(BaseModel):
    """Immutable settings of a host. Durations are seconds (``_s``), sizes are bytes (``_bytes``), and all are finite.

    ``max_fences`` is asked for when an answer begins, for the epoch that it will leave behind; so what ends an epoch
    (an interrupt, a cancel, a newer turn, a lost worker) is never refused, and the limit holds all the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    max_sessions: int = Field(default=64, ge=1, description="sessions that hold a slot at the same time")
    max_requests: int = Field(default=32, ge=2, description="stage requests of one session, owed ones included")
    max_responses: int = Field(default=4, ge=1, description="responses of one session that have no terminal yet")
    max_fences: int = Field(default=16, ge=2, description="epochs of one session whose requests are not all released")
    max_evicting: int = Field(
        default=2, ge=1, description="superseded transports of one session that may still say goodbye"
    )
    max_turns: int = Field(
        default=4, ge=1, description="committed turns of one session that the stage has not heard yet"
    )
    max_retries: int = Field(
        default=20, ge=0, description="clean-ups of one request that are tried again by the clock; then it rests"
    )
    max_steps: int = Field(default=10_000, ge=100, description="deliveries in one dispatch")
    max_notices: int = Field(default=64, ge=1, description="unsent notices (errors, heartbeats) of one transport")
    max_refusals: int = Field(default=4, ge=1, description="first messages of one connection that may be refused")
    max_playback: int = Field(default=16, ge=1, description="responses of one session whose playback is remembered")
    max_items: int = Field(default=512, ge=8, description="items of one session's conversation")
    max_calls: int = Field(default=16, ge=1, description="function calls of one response")
    max_tombstones: int = Field(default=10_000, ge=1, description="ended sessions whose end is remembered")

    journal_bytes: int = Field(default=8 * MIB, ge=64 * 1024, description="frames kept for replay, per session")
    overflow: Literal["close", "drop_oldest"] = Field(
        default="close", description="a full journal of a detached session"
    )
    journal_age_s: float = Field(
        default=60.0, gt=0, description="age past which a handed frame is trimmed while attached"
    )
    reserve_bytes: int = Field(
        default=64 * 1024, ge=4096, description="room over journal_bytes for errors and terminals"
    )
    input_bytes: int = Field(
        default=16 * MIB, ge=64 * 1024, description="audio taken in and not yet heard, per session"
    )
    frame_bytes: int = Field(default=15 * MIB, ge=1024, description="one client message")
    write_bytes: int = Field(default=64 * 1024, ge=1024, description="frames handed to a transport in one write")

    item_bytes: int = Field(default=256 * 1024, ge=1024, description="one item that a client adds, as JSON")
    conversation_bytes: int = Field(
        default=MIB, ge=16 * 1024, description="items of one session's conversation, as JSON"
    )
    speech_bytes: int = Field(default=64 * 1024, ge=1024, description="text and function calls of one response")
    config_bytes: int = Field(default=64 * 1024, ge=1024, description="configuration of one session, as JSON")

    first_s: float = Field(default=10.0, gt=0, description="a connection says its first message, or is closed")
    farewell_s: float = Field(default=0.5, gt=0, description="a peer that closed, or broke the protocol, is answered")
    idle_s: float = Field(default=300.0, gt=0, description="a session without activity ends")
    idle_max_s: float = Field(default=3600.0, gt=0, description="the longest idle time that a client may ask for")
    grace_s: float = Field(default=30.0, gt=0, description="a detached session ends")
    evict_s: float = Field(default=2.0, gt=0, description="a superseded transport is aborted")
    drain_s: float = Field(
        default=5.0, gt=0, description="a transport drains through the terminal event, or is aborted"
    )
    write_s: float = Field(default=20.0, gt=0, description="one write that makes no progress loses its transport")
    prepare_s: float = Field(default=10.0, gt=0, description="the pipeline prepares a session")
    cleanup_s: float = Field(default=5.0, gt=0, description="stages give back what a closing session holds")
    reserve_s: float = Field(default=10.0, gt=0, description="a request waits for a ready worker")
    submit_s: float = Field(default=10.0, gt=0, description="a stage says whether it took a request")
    abort_s: float = Field(default=2.0, gt=0, description="a stage confirms a clean-up")
    shutdown_s: float = Field(default=10.0, gt=0, description="all sessions end and clean up at shutdown")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        self._at_most("grace_s", "journal_age_s")
        self._at_most("idle_s", "idle_max_s")
        self._at_most("write_bytes", "journal_bytes")
        self._at_most("item_bytes", "conversation_bytes")
        self._at_most("cleanup_s", "shutdown_s")
        self._at_most("drain_s", "shutdown_s")
        if self.max_steps < STEPS_A_REQUEST * self.max_requests:
            need = STEPS_A_REQUEST * self.max_requests
            raise ValueError(f"max_steps = {self.max_steps} is under {STEPS_A_REQUEST} a request: raise it to {need}")
        return self

    def _at_most(self, name: str, limit: str) -> None:
        value, most = getattr(self, name), getattr(self, limit)
        if value > most:
            raise ValueError(f"{name} = {value} is over {limit} = {most}: lower the former, or raise the latter")
