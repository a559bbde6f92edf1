"""What changed in a machine beside its rows: the machine itself, its messages, its work and its states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from interlock.draw.diff_words import Said, changed, listed, quoted
from interlock.spec.form import Kind, MachineForm, MessageForm, WorkForm
from interlock.spec.plan import CANCELLED, Plan, span_of

T = TypeVar("T")


def machine_level(old: Plan | None, new: Plan | None) -> Iterator[Said]:
    """Yield what changed of the machine as a whole."""
    if old is None or new is None:
        yield _whole(old, new)
        return
    a, b = old.form, new.form
    said = changed("name", a.machine, b.machine) + changed("doc", quoted(a.doc), quoted(b.doc))
    for key in ("initial", "owner", "per", "created_by", "limit"):
        said += changed(key, getattr(a, key), getattr(b, key))
    said += listed("final", a.final, b.final) + listed("stamps", a.stamps, b.stamps)
    said += listed("settings", sorted(a.settings), sorted(b.settings))
    yield from (("changed", "machine", text) for text in said)


def message_level(old: Plan | None, new: Plan | None) -> Iterator[Said]:
    """Yield what changed of the messages that the machine declares, and of who sends its events."""
    before, after = (plan.form if plan else None for plan in (old, new))
    yield from _each("message", _messages(before), _messages(after), _message_words, _message_differences)


def work_level(old: Plan | None, new: Plan | None) -> Iterator[Said]:
    """Yield what changed of the work spans."""
    before, after = (plan.form.work if plan else {} for plan in (old, new))
    yield from _each("work", before, after, lambda work: f"in {', '.join(span_of(work))}", _work_differences)


def state_level(old: Plan | None, new: Plan | None, state: str) -> Iterator[Said]:
    """Yield what changed of one state, beside its rows."""
    before, after = (_state(plan, state) for plan in (old, new))
    yield from _each(f"state {state}", before, after, _state_words, _state_differences)


def _whole(old: Plan | None, new: Plan | None) -> Said:
    if old is None and new is not None:
        return "added", "machine", f"added, {quoted(new.form.doc)}"
    return "removed", "machine", f"removed, {quoted(old.form.doc) if old else ''}"


def _each(
    what: str,
    old: Mapping[str, T],
    new: Mapping[str, T],
    words: Callable[[T], str],
    differences: Callable[[T, T], list[str]],
) -> Iterator[Said]:
    """Yield the changes of things by name; those added and removed in words, the others by how they differ."""
    for name in [*new, *(name for name in old if name not in new)]:
        place = f"{what} {name}".strip()
        if name not in old:
            yield "added", place, f"added, {words(new[name])}"
        elif name not in new:
            yield "removed", place, f"removed, {words(old[name])}"
        else:
            yield from (("changed", place, text) for text in differences(old[name], new[name]))


Sent = tuple[str, MessageForm | None]


def _messages(form: MachineForm | None) -> dict[str, Sent]:
    if form is None:
        return {}
    found: dict[str, Sent] = {name: ("nobody", message) for name, message in form.message.items()}
    for name in form.effects:
        found[name] = "this machine, an effect", form.message.get(name)
    for origin, events in form.events.items():
        found |= {event: (origin, form.message.get(event)) for event in events if event != CANCELLED}
    return found


def _message_words(sent: Sent) -> str:
    origin, form = sent
    parts = [f"from {origin}"]
    if form is not None:
        parts += _fields("field", form.fields) + _fields("fact", form.facts) + [quoted(form.doc)]
        parts += [f"within {form.within}"] if form.within else []
        parts += [f"ends in {form.ends}"] if form.ends else []
    return ", ".join(parts)


def _message_differences(old: Sent, new: Sent) -> list[str]:
    a, b = old[1], new[1]
    said = changed("from", old[0], new[0])
    if a is None or b is None:
        return said
    said += changed("doc", quoted(a.doc), quoted(b.doc))
    said += listed("fields", _fields("", a.fields), _fields("", b.fields))
    said += listed("facts", _fields("", a.facts), _fields("", b.facts))
    return said + changed("within", a.within, b.within) + changed("ends in", a.ends, b.ends)


def _fields(what: str, fields: Mapping[str, Kind]) -> list[str]:
    kinds = ((name, kind if isinstance(kind, str) else " | ".join(kind)) for name, kind in fields.items())
    return [f"{what} {name}: {kind}".strip() for name, kind in kinds]


def _work_differences(old: WorkForm, new: WorkForm) -> list[str]:
    said = changed("doc", quoted(old.doc), quoted(new.doc)) + changed("from", old.start, new.start)
    return said + listed("through", span_of(old)[1:], span_of(new)[1:])


Standing = tuple[str, str | None, str | None, str, tuple[str, ...]]
"""A state without its rows: kind, work, why it is shielded, what it is, and its timeouts."""


def _state(plan: Plan | None, name: str) -> dict[str, Standing]:
    form = plan.form.state.get(name) if plan is not None else None
    if plan is None or form is None:
        return {}
    timeouts = tuple(f"{timeout.event} after {timeout.after}" for timeout in form.timeouts)
    return {"": (plan.kind(name), plan.spans.get(name), form.shielded, form.doc, timeouts)}


def _state_words(state: Standing) -> str:
    kind, work, shielded, doc, timeouts = state
    return ", ".join([*_kind(kind, work, shielded), *timeouts, quoted(doc)])


def _kind(kind: str, work: str | None, shielded: str | None) -> Iterable[str]:
    return [kind, *([f"awaits {work}"] if work else []), *([quoted(shielded)] if shielded else [])]


def _state_differences(old: Standing, new: Standing) -> list[str]:
    said = changed("kind", old[0], new[0]) + changed("awaits", old[1], new[1])
    if old[2] != new[2]:
        said += changed("shielded", *(quoted(one) if one else None for one in (old[2], new[2])))
    return said + changed("doc", quoted(old[3]), quoted(new[3])) + listed("timeouts", old[4], new[4])
