"""What must hold of a session in its world: the five promises, as far as a world can see them.

What a single commit can break is asked of :func:`interlock.proof.promises.judge`, the oracle of every tool here, and of
its extension for what needs no history. What only the world knows stands beside it: who knows which token, what a stage
really holds, who still waits for an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from interlock.machine import Cancelled, Message
from interlock.proof.explore.model import Property
from interlock.proof.promises import CLAIMED, OVER, judge
from interlock.proof.world.asked import judge_asked
from interlock.proof.world.place import CLOSING, HELD, LIVE, World
from interlock.session.credential import opens
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.tables import messages as m

ALWAYS = {
    "no defect": "No machine ever meets an event that its state does not list.",
    "promise 1": "Every cancel lands: nothing is attached, a grace runs, and attachment and lease agree, always.",
    "promise 2": "From the step that accepts an interrupt, no output of an older epoch is in the journal.",
    "promise 3": "A client that no successor superseded knows a token that opens the session, while it is open.",
    "promise 4": "What a stage holds, or may hold, is on the books; a session that is CLOSED has nothing there.",
    "promise 5": "Each response and each session is ended once, in the step in which it ends.",
    "one answer": "At most one answer is live: a newer turn supersedes it.",
    "cleaned up": "What an old epoch holds is cleaned up, and its fence knows; a request comes to what is said of it.",
    "done as asked": "What is asked for and accepted is done in the same step, or somebody is told why not.",
    "answered": "Whoever waits for a claim waits for one that is under way.",
    "told truly": "A client that says truly what it has is let in, or told what it lost; what is over is no error.",
    "closed once": "Every transport carries the claim, or is owed exactly one close.",
}

ABOUT_RUNS = (
    Property("can end", "From every reachable state, the session can come to CLOSED.", "AG EF", goal="closed"),
    Property(
        "left alone",
        "Every fair run in which nobody who knows the session is left, and a grace runs, comes to CLOSED.",
        "leads to",
        goal="closed",
        after="abandoned",
    ),
    Property(
        "comes to rest",
        "When the clients are quiet, every fair run passes through rest again and again.",
        "again and again",
        goal="rest",
        moves="system",
    ),
    Property(
        "claims settle",
        "Whatever the clients do, every fair run passes through an attachment at rest again and again.",
        "again and again",
        goal="claim at rest",
    ),
    Property(
        "closing ends",
        "Every fair run that begins to close comes to CLOSED, whatever the clients do.",
        "leads to",
        goal="closed",
        after="closing",
    ),
)

PROPERTIES: Sequence[Property] = (
    *(Property(name, sentence) for name, sentence in ALWAYS.items()),
    *ABOUT_RUNS,
    Property("every row", "Every row of every machine fires, in one of the worlds.", "sometimes"),
)


def judge_commit(before: World, event: Message, decision: Decision) -> Iterator[str]:
    """Yield what one commit breaks, as ``property: what was seen``."""
    yield from judge(before.value, event, decision)
    yield from _one_end(before.value, decision)
    yield from _ordered_once(before.value, decision)
    yield from _credentials_delivered(before, decision.value)
    yield from judge_asked(before.value, decision)
    if isinstance(event, Cancelled | m.TransportLost):
        yield from _survives(before.value, decision.value)
    if isinstance(event, Cancelled) and event.target == "attachment" and event.stamp == before.value.generation:
        yield from _rolled_back(before.value, decision.value)


def judge_world(world: World) -> Iterator[str]:
    """Yield what is wrong with a state in which nothing is under way inside."""
    yield from _nothing_old(world)
    yield from _somebody_knows(world)
    yield from _on_the_books(world)
    yield from _cleaned_up(world)
    yield from _nothing_left(world.value)
    yield from _landed(world)
    yield from _nobody_waits_in_vain(world)
    yield from _transports(world)


def judge_resume(world: World, event: m.ResumeRequested, decision: Decision) -> Iterator[str]:
    """Yield what is wrong with the answer to a client; it speaks the truth about its position, always."""
    value = world.value
    if value.state("session") != "OPEN" or not opens(value.credential, event.token):
        return
    refusal = next((effect for effect in decision.effects if isinstance(effect, m.RefuseResume)), None)
    if refusal is not None and refusal.code != "journal_gap":
        yield f"told truly: a good token and a true position were refused as {refusal.code}"
    if refusal is None and event.position < value.journal.trimmed:
        yield f"told truly: at {event.position} it is let in, and never told that history up to {value.journal} is gone"
    if refusal is not None and not event.position < refusal.resumable_from <= value.journal.head:
        yield f"told truly: at {event.position} it is sent to {refusal.resumable_from}, of {value.journal}"


def judge_refusal(world: World, event: Message) -> Iterator[str]:
    """FE-21: to cancel an answer that has ended is no error."""
    if isinstance(event, m.CancelRequested) and world.value.state("session") == "OPEN":
        ended = [entry.response_id for entry in world.value.playback if entry.ended]
        yield from (
            f"told truly: {name} has ended; to cancel it is no error" for name in ended if name == event.response_id
        )


def _survives(before: Value, after: Value) -> Iterator[str]:
    """TW-02: a lost transport or a cancel is a detach and no end; not so the first, before its credentials went out."""
    is_first = before.generation == 1 and before.state("attachment") == "ACTIVATING"
    if before.state("session") == "OPEN" != after.state("session") and not is_first:
        yield "promise 3: a session that can be resumed was ended by one transport"


def _rolled_back(before: Value, after: Value) -> Iterator[str]:
    """AT-01: a claim that is cancelled before it is attached is undone, whichever half of it was done."""
    found = after.state("attachment")
    if before.state("attachment") in ("ACTIVATING", "REPLAYING") and found not in ("ROLLED_BACK", "CLOSED"):
        yield f"promise 1: the claim was cancelled, and the attachment is {found}"


def _one_end(before: Value, decision: Decision) -> Iterator[str]:
    """Each response has one creation and one terminal, and each session one terminal, in the step that it is about."""
    after, said = decision.value, Counter[str]()
    for effect in decision.effects:
        if isinstance(effect, m.AppendEvent) and effect.kind != "error":
            said[f"{effect.kind.partition('.')[0]} {effect.kind.rpartition('.')[2]} {effect.response_id}"] += 1
    born, ended = _responses(decision)
    wanted = Counter([f"response created {name}" for name in born] + [f"response done {name}" for name in ended])
    if after.state("session") in OVER and before.state("session") not in OVER:
        reason = "expired" if any(key.startswith("session expired") for key in said) else "closed"
        wanted[f"session {reason} "] += 1
    if any(isinstance(e, m.AppendEvent) and e.kind in TERMINALS and not e.reason for e in decision.effects):
        yield "promise 5: the session's end does not say why"
    if said != wanted:
        yield f"promise 5: said {sorted(said.elements())}, and what began or ended was {sorted(wanted.elements())}"


TERMINALS = frozenset({"session.closed", "session.expired"})
ENDED = frozenset({"COMPLETED", "CANCELLED", "FAILED"})


def _responses(decision: Decision) -> tuple[list[str], list[str]]:
    born: list[str] = []
    ended: list[str] = []
    for taken in decision.taken:
        name, key = taken.address
        if name == "response" and taken.row is not None:
            born += [str(key)] if not taken.state else []
            ended += [str(key)] if taken.to in ENDED else []
    return born, ended


def _ordered_once(before: Value, decision: Decision) -> Iterator[str]:
    """A transport is ordered to close in the step in which it ceases to carry the claim, and only then."""
    after = decision.value
    orders = [
        effect.generation
        for effect in decision.effects
        if isinstance(effect, m.EvictTransport | m.DropTransport | m.FinishTransport)
    ]
    had, has = _claimed(before), _claimed(after)
    if sorted(orders) != sorted(had - has):
        yield f"closed once: transports {orders} were ordered to close; {sorted(had - has)} ceased to carry the claim"


def _claimed(value: Value) -> set[int]:
    return {value.generation} if value.state("attachment") in CLAIMED else set()


def _credentials_delivered(before: World, after: Value) -> Iterator[str]:
    """AT-13: a session whose credentials were never handed over is closed, not left."""
    value = before.value
    lost = value.state("attachment") == "ACTIVATING" and after.state("attachment") == "ROLLED_BACK"
    if lost and value.generation == 1 and after.state("session") == "OPEN":
        yield "promise 1: nobody was ever handed the credentials, and the session lives on"


def _nothing_old(world: World) -> Iterator[str]:
    old = sorted(epoch for epoch in world.deltas if epoch != world.value.epoch)
    if old:
        yield f"promise 2: the journal holds output of epoch {old[0]} in epoch {world.value.epoch}"


def _somebody_knows(world: World) -> Iterator[str]:
    value = world.value
    if value.state("session") != "OPEN":
        return
    for cell in world.of("client"):
        known = [token for token in cell.data.tokens if opens(value.credential, token.encode())]
        if cell.state not in ("STRANGER", "EXPECTING") and not known and not cell.data.superseded:
            yield f"promise 3: client {cell.data.client} is locked out: no token that it knows opens the session"


def _on_the_books(world: World) -> Iterator[str]:
    for cell in world.of("stage"):
        if cell.state == "LEAKED":
            yield f"promise 4: {cell.data.request_id} is off the books while {cell.data.stage} may hold it"
        elif cell.state in HELD and not world.value.state("request", cell.data.request_id):
            yield f"promise 4: {cell.data.request_id} is nowhere, and {cell.data.stage} may hold it"
    for (name, key), cell in world.value.cells.items():
        if name == "fence" and any(not world.value.state("request", held) for held in cell.data.ids):
            yield f"promise 4: fence {key} waits for an id that nobody owes"


def _cleaned_up(world: World) -> Iterator[str]:
    """FE-01: an epoch that is over is over at the stages too: each id is being cleaned up, and held by its fence."""
    value = world.value
    if value.state("session") != "OPEN":
        return
    live = [str(key) for name, key in value.cells if name == "response"]
    if len(live) > 1:
        yield f"one answer: {', '.join(live)} are live"
    for (name, key), cell in value.cells.items():
        if name == "request" and cell.data.response_id and cell.data.epoch != value.epoch:
            fence = value.cells.get(("fence", cell.data.epoch))
            if fence is None or key not in fence.data.ids:
                yield f"cleaned up: {key} is of an older epoch, and no fence waits for it"
            if cell.state not in ("ABORTING", "OWED"):
                yield f"cleaned up: {key} is of an older epoch, and is still {cell.state}"


def _nothing_left(value: Value) -> Iterator[str]:
    """What is over has no clock; and when the last id is released, nothing is left that waits."""
    session = value.state("session")
    if session in OVER and value.state("lease") != "CLOSED":
        yield f"promise 1: the session is {session}, and its lease still has a clock"
    left = [f"{name} {key}" for name, key in value.cells if name in ("fence", "response")]
    if session == "CLOSED" and left:
        yield f"promise 4: the session is CLOSED, and {', '.join(left)} is left"


def _landed(world: World) -> Iterator[str]:
    value = world.value
    claim = value.cells["attachment", None].data.claim
    for cell in world.of("caller"):
        if cell.state != "CANCELLED":
            continue
        if value.state("session") == "OPENING":
            yield "promise 1: the open was cancelled, and the session is still OPENING"
        elif cell.data.claim == claim and value.state("attachment") in ("ACTIVATING", "REPLAYING"):
            yield f"promise 1: the claim was cancelled, and the attachment is {value.state('attachment')}"


def _nobody_waits_in_vain(world: World) -> Iterator[str]:
    value = world.value
    for cell in world.of("caller"):
        under_way = value.cells["attachment", None].data.claim == cell.data.claim and value.state("attachment") in (
            "ACTIVATING",
            "REPLAYING",
        )
        if cell.state == "WAITING" and not under_way and value.state("session") != "OPENING":
            yield f"answered: a caller waits, and the attachment is {value.state('attachment')}"


def _transports(world: World) -> Iterator[str]:
    live = {cell.data.generation for cell in world.of("link") if cell.state in LIVE}
    owed = {cell.data.generation for cell in world.of("link") if cell.state in CLOSING}
    if live != _claimed(world.value) or owed != set(world.value.closing):
        yield (
            f"closed once: transports {sorted(live)} write, {sorted(owed)} are being closed;"
            f" the session has {sorted(_claimed(world.value))} and {sorted(world.value.closing)}"
        )
