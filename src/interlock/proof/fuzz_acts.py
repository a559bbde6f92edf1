"""What can happen in a fuzzed world, by name. Each act does what it can with what exists, and nothing without it.

An act takes the world and a number that chooses; one that returns seconds lets so much time pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from interlock.proof.fuzz_world import Act, Call, Client, World
from interlock.runtime.ports import Aborted, Finished, Output
from interlock.runtime.talk import Session
from interlock.wire.dialect import DUPLEX, Dialect, Ga
from interlock.wire.items import MessageItem, OutputItem, Part
from interlock.workers.protocol import Submit
from interlock.workers.scripted import FRAME_SAMPLES, ScriptedStage

LOUD: Final = b"\x01\x00" * 160
ACCEPTS: Final = (math.inf, math.inf, math.inf, 0, 1, 4)
"""How many frames a new connection takes before it stalls."""

FAR: Final = 1_000_000

CALL: Final = b'{"name": "look_up", "arguments": "{}"}'
BACK: Final = Ga({"resumed": True})


def open_(world: World, pick: int) -> None:
    """A new client opens a session."""
    client = Client()
    world.clients.append(client)
    call = Call(client, world.link(ACCEPTS[pick % len(ACCEPTS)], client))
    world.call(call, lambda: world.host.open(call.link))


def _resume(
    world: World,
    pick: int,
    token: Callable[[list[str]], str],
    position: int = -1,
    dialect: Dialect = DUPLEX,
) -> None:
    client = world.client(pick)
    if client is None or client.story is None:
        return
    name, chosen = client.session_id, token(client.story.tokens)
    place = client.position if position < 0 else position
    call = Call(client, world.link(ACCEPTS[(pick // 4) % len(ACCEPTS)], client, place))
    world.call(call, lambda: world.host.resume(name, chosen, place, call.link, dialect))


def open_strict(world: World, pick: int) -> None:
    """A new client opens a session, and speaks the GA dialect."""
    client = Client()
    world.clients.append(client)
    call = Call(client, world.link(ACCEPTS[pick % len(ACCEPTS)], client))
    world.call(call, lambda: world.host.open(call.link, None, Ga()))


def resume_foreign(world: World, pick: int) -> None:
    """Somebody tries the token of another session."""
    client, other = world.client(pick), world.client(pick + 1)
    if client is None or other is None or client.story is None or other.story is None or client is other:
        return
    name, token = client.session_id, other.story.tokens[-1]
    call = Call(client, world.link(math.inf, Client()))
    world.call(call, lambda: world.host.resume(name, token, 0, call.link))


def give_up(world: World, pick: int) -> None:
    """A caller of ``open`` or ``resume`` is cancelled."""
    if world.calls:
        world.calls[-1 - pick % len(world.calls)].scope.cancel()


def _on_link(do: Callable[[World, Client], object]) -> Act:
    def act(world: World, pick: int) -> None:
        client = world.client(pick)
        if client is not None:
            do(world, client)

    return act


def _session(world: World, pick: int) -> Session | None:
    """Choose a session as one of its callers holds it: mostly the last claim, sometimes one before."""
    client = world.client(pick)
    if client is None or not client.sessions:
        return None
    return client.sessions[-1 - (pick // 16) % len(client.sessions)]


def _saying(what: Callable[[Session], object]) -> Act:
    return lambda world, pick: world.say(_session(world, pick), what)


def speak(world: World, pick: int) -> None:
    """A client says something, and ends its turn."""
    append(world, pick)
    world.say(_session(world, pick), lambda session: session.commit())


def append(world: World, pick: int) -> None:
    """A client says something."""
    world.say(_session(world, pick), lambda session: session.append(LOUD))


def _write(world: World, pick: int) -> None:
    """A client adds an item: under an id of its own that may be taken, behind one that may be gone."""
    after = (None, None, None, "root", "mine_1", "nobody")[(pick // 4) % 6]
    item = MessageItem(id=f"mine_{pick % 4}", role="user", content=[Part(type="input_text", text="say it again")])
    world.say(_session(world, pick), lambda session: session.create_item(item, after))


def _answer_call(world: World, pick: int) -> None:
    """A client says what came of a call: of the last one, or of none."""

    def say(session: Session) -> None:
        calls = [item["call_id"] for item in session._driver.conversation.items if "name" in item]
        session.create_item(OutputItem(call_id=calls[-1] if calls else "none", output="done"))

    world.say(_session(world, pick), say)


def _on_item(do: Callable[[Session, str], object]) -> Act:
    """Let a client do something about an item, mostly one that is there."""

    def act(world: World, pick: int) -> None:
        def say(session: Session) -> None:
            ids = [item["id"] for item in session._driver.conversation.items] or ["nobody"]
            do(session, ids[-1 - (pick // 4) % len(ids)])

        world.say(_session(world, pick), say)

    return act


def _acking(position: Callable[[Client, int], int], *, proves: bool) -> Act:
    def act(world: World, pick: int) -> None:
        client, session = world.client(pick), _session(world, pick)
        if client is not None and session is not None:
            claimed = session.generation if proves else 0
            world.say(session, lambda held: held.ack(position(client, pick), claimed))

    return act


def _stage(world: World, pick: int) -> ScriptedStage:
    stages = list(world.fleet.stages.values())
    return stages[pick % len(stages)]


def _script(**changes: object) -> Act:
    def act(world: World, pick: int) -> None:
        for name, value in changes.items():
            setattr(_stage(world, pick).script, name, value)

    return act


def heal(world: World, _: int) -> None:
    """Every stage does again what it should."""
    for stage in world.fleet.stages.values():
        stage.script.submit, stage.script.abort, stage.script.delay_s = "accept", "confirm", 0.0


def _request(do: Callable[[ScriptedStage, str], object], stage: int | None = None) -> Act:
    """Let a stage do something about a request that it was ever handed, the latest first."""

    def act(world: World, pick: int) -> None:
        chosen = _stage(world, pick if stage is None else stage)
        rest = pick // 3 if stage is None else pick
        ids = [order.request_id for order in world.fleet.orders_of(Submit, chosen.name)]
        if ids and chosen.condition == "ready":
            do(chosen, ids[-1 - rest % len(ids)])

    return act


def _burst(stage: ScriptedStage, request_id: str) -> None:
    for index in range(30):
        stage.audio(request_id, index)


def ghost(world: World, pick: int) -> None:
    """The worker that was there before the current one is heard once more."""
    stage = _stage(world, pick)
    ids = [order.request_id for order in world.fleet.orders_of(Submit, stage.name)]
    if ids and stage.incarnation > 1:
        held, pcm = ids[-1 - (pick // 9) % len(ids)], b"\1\0" * FRAME_SAMPLES
        replies = (Output(held, 1, "audio", pcm), Finished(held), Aborted(held))
        world.host.reply(stage.name, stage.incarnation - 1, replies[(pick // 3) % len(replies)])


def lose(world: World, pick: int) -> None:
    """A worker stops answering."""
    if _stage(world, pick).condition == "ready":
        world.fleet.lose(_stage(world, pick).name)


def gone(world: World, pick: int) -> None:
    """A worker is known to be gone."""
    if _stage(world, pick).condition in ("ready", "lost"):
        world.fleet.gone(_stage(world, pick).name)


def come_back(world: World, pick: int) -> None:
    """The next worker of a stage is ready."""
    if _stage(world, pick).condition == "gone" and not world.host.is_stopping:
        world.fleet.come_back(_stage(world, pick).name)


def prepare_slowly(world: World, pick: int) -> None:
    """Preparations take a second from here on, or longer than they may."""
    world.pipeline.prepare_s = 1.0 if pick % 2 == 0 else 60.0


def refuse_sessions(world: World, _: int) -> None:
    """The pipeline refuses whoever comes from here on."""
    world.pipeline.refuses = True


def leap(world: World, pick: int) -> None:
    """The clock jumps past deadlines: the process was stopped, or the machine slept."""
    world.ledger.leapt_at = world.clock.current_time()
    world.clock.jump((3.0, 40.0, 400.0)[pick % 3])


def _position_of(client: Client, _: int) -> int:
    return client.position


ACTS: Final[dict[str, Act]] = {
    "open": open_,
    "resume": lambda world, pick: _resume(world, pick, lambda tokens: tokens[-1]),
    "resume_presented": lambda world, pick: _resume(world, pick, lambda tokens: tokens[-2:][0]),
    "resume_old": lambda world, pick: _resume(world, pick, lambda tokens: tokens[0]),
    "resume_wrong": lambda world, pick: _resume(world, pick, lambda tokens: "wrong"),
    "resume_from_0": lambda world, pick: _resume(world, pick, lambda tokens: tokens[-1], 0),
    "resume_ahead": lambda world, pick: _resume(world, pick, lambda tokens: tokens[-1], FAR),
    "resume_foreign": resume_foreign,
    "give_up": give_up,
    "tear": _on_link(lambda _, client: client.link.tear()),
    "break": _on_link(lambda _, client: client.link.breaks()),
    "stall": _on_link(lambda _, client: client.link.stall()),
    "allow_one": _on_link(lambda _, client: client.link.allow(1)),
    "allow": _on_link(lambda _, client: client.link.allow()),
    "speak": speak,
    "append": append,
    "commit": _saying(lambda session: session.commit()),
    "clear_input": _saying(lambda session: session.clear_input()),
    "barge_in": _saying(lambda session: session.barge_in()),
    "cancel": _saying(lambda session: session.cancel_response()),
    "create": _saying(lambda session: session.create_response()),
    "playback_ack": _saying(lambda session: session.playback_ack("", 40)),
    "update": _saying(lambda session: session.update({"idle_timeout_s": 3})),
    "heartbeat": _saying(lambda session: session.heartbeat()),
    "close": _saying(lambda session: session.close()),
    "detach": _saying(lambda session: session.detach()),
    "ack": _acking(_position_of, proves=True),
    "ack_position": _acking(_position_of, proves=False),
    "ack_less": _acking(lambda client, pick: max(client.position - 1 - pick // 4, 0), proves=False),
    "ack_lie": _acking(lambda client, pick: client.position + 1 + pick // 4, proves=False),
    "submit_hangs": _script(submit="hang"),
    "submit_refuses": _script(submit="refuse"),
    "submit_fails": _script(submit="fail"),
    "abort_hangs": _script(abort="hang"),
    "abort_refuses": _script(abort="refuse"),
    "abort_fails_once": _script(abort_failures=1),
    "answers_inside": _script(delay_s=None),
    "answers_late": _script(delay_s=0.7),
    "never_ends": _script(ends=False),
    "is_full": _script(capacity=1),
    "keeps_input": _script(takes_input=False),
    "heal": heal,
    "audio": _request(lambda stage, name: stage.audio(name), 2),
    "open_strict": open_strict,
    "resume_strict": lambda world, pick: _resume(world, pick, lambda tokens: tokens[-1], dialect=BACK),
    "resume_strict_presented": lambda world, pick: _resume(world, pick, lambda tokens: tokens[-2:][0], dialect=BACK),
    "write": _write,
    "answer_call": _answer_call,
    "truncate": _on_item(lambda session, name: session.truncate_item(name, 40)),
    "delete_item": _on_item(lambda session, name: session.delete_item(name)),
    "create_text": _saying(lambda session: session.create_response({"output_modalities": ["text"]})),
    "create_aside": _saying(lambda session: session.create_response({"conversation": "none", "instructions": "x"})),
    "turns_by_hand": _saying(lambda session: session.update({"turn_detection": None})),
    "tells": _request(lambda stage, name: stage.output(name, "spoken", b"more", 40), 2),
    "calls": _request(lambda stage, name: stage.output(name, "function_call", CALL), 1),
    "calls_badly": _request(lambda stage, name: stage.output(name, "function_call", b"[]"), 1),
    "text": _request(lambda stage, name: stage.output(name, "text", b"more"), 1),
    "burst": _request(_burst, 2),
    "hears": _request(lambda stage, name: stage.hear(name, "speech_started"), 0),
    "understands": _request(lambda stage, name: stage.say(name, "again"), 0),
    "finish_request": _request(lambda stage, name: stage.finish(name)),
    "fail_request": _request(lambda stage, name: stage.fail(name)),
    "accept_late": _request(lambda stage, name: stage.accept(name)),
    "refuse_late": _request(lambda stage, name: stage.refuse(name)),
    "confirm_late": _request(lambda stage, name: stage.confirm(name)),
    "refuse_abort_late": _request(lambda stage, name: stage.refuse_abort(name)),
    "ghost": ghost,
    "lose": lose,
    "gone": gone,
    "come_back": come_back,
    "prepare_slowly": prepare_slowly,
    "refuse_sessions": refuse_sessions,
    "tick": lambda _, pick: 0.1,
    "second": lambda _, pick: 1.0,
    "ten_seconds": lambda _, pick: 10.0,
    "forty_seconds": lambda _, pick: 40.0,
    "leap": leap,
    "stop_host": lambda world, _: world.host.stop(),
    "cancel_host": lambda world, _: world.host_scope.cancel(),
}
"""Every act, by its name in a schedule."""
