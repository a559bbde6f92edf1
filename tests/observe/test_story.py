"""Metrics, log lines and spans tell what was committed: the trace of the same run is their witness."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
import trio.testing
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from interlock.observe import log
from interlock.observe.exposition import Exposition
from interlock.observe.histogram import Histogram
from interlock.observe.metrics import Metrics
from interlock.observe.several import Several
from interlock.observe.spans import Spans, spans_if_there
from interlock.observe.story import Story, Told
from interlock.observe.trace import Trace
from tests.proof import replay_story
from tests.runtime.stage_play import LOUD, play


class Run(NamedTuple):
    """One run of the story, heard by everybody at once."""

    trace: Trace
    metrics: Metrics
    told: list[Told]
    spans: tuple[ReadableSpan, ...]
    open_spans: int
    lines: list[dict[str, Any]]
    secrets: list[str]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    stream, told = StringIO(), list[Told]()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(log.Json())
    log.log.addHandler(handler)
    log.log.setLevel(logging.DEBUG)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def main() -> tuple[replay_story.Told, Trace, Metrics, Spans]:
        trace, metrics, spans = Trace(), Metrics(), Spans(provider.get_tracer("test"))
        several: Any = Several(trace, Story(metrics.hear, told.append, log.write, spans.hear))
        return await replay_story.live(several), trace, metrics, spans

    try:
        clients, trace, metrics, spans = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        yield Run(trace, metrics, told, exporter.get_finished_spans(), len(spans), lines, clients.tokens)
    finally:
        log.log.removeHandler(handler)
        log.log.setLevel(logging.NOTSET)


def effects(run: Run, kind: str) -> list[dict[str, Any]]:
    """Return every committed effect of one type."""
    return [e for record in run.trace.records for e in record.get("effects", []) if e["type"] == kind]


def moves(run: Run, machine: str) -> Counter[tuple[str, str]]:
    """Count the moves of one machine, from state to state."""
    rows = [row for record in run.trace.records for row in record.get("rows", [])]
    return Counter((r["from"], r["to"]) for r in rows if r["machine"] == machine and r["from"] != r["to"])


def test_claims_are_counted_as_they_landed(run: Run) -> None:
    landed = Counter[str]()
    for (_, why), count in run.metrics.claims.items():
        landed[why] += count
    attachment = moves(run, "attachment")
    assert landed["attached"] == len(effects(run, "ConfirmClaim")) == attachment["REPLAYING", "ATTACHED"] > 0
    rolled_back = attachment["REPLAYING", "ROLLED_BACK"] + attachment["ACTIVATING", "ROLLED_BACK"]
    assert landed["cancelled"] + landed["transport_lost"] == rolled_back > 0
    assert sum(landed.values()) == len(effects(run, "RotateCredential")) == run.metrics.attach.count
    assert run.metrics.claims["open", "attached"] == 2


def test_refusals_ends_and_responses_are_counted(run: Run) -> None:
    metrics = run.metrics
    assert metrics.refused == Counter(effect["code"] for effect in effects(run, "RefuseResume"))
    assert metrics.detached == moves(run, "attachment")["ATTACHED", "DETACHED"]
    assert metrics.opened == moves(run, "session")["OPENING", "OPEN"] == 2
    assert metrics.ended == Counter({"by_caller": 1, "disconnect_grace_expired": 1})
    done = Counter(e["status"] for e in effects(run, "AppendEvent") if e["kind"] == "response.done")
    assert metrics.responses == done
    assert sum(done.values()) > 2


def test_a_cancel_lands_when_its_fence_closes(run: Run) -> None:
    fences = moves(run, "fence")
    assert run.metrics.landing.count == sum(count for (_, to), count in fences.items() if to == "CLOSED") > 0


def test_what_is_stale_is_counted_once_and_outlives_its_session() -> None:
    story = Story()

    async def main() -> None:
        recorder: Any = Several(story)
        async with play(record=recorder, grace_s=4.0) as scene:
            session, _ = await scene.open()
            await scene.speak(session)
            session.barge_in()
            driver = scene.driver(session)
            await trio.sleep(5)
            counted.append(driver.value.stale)
            session.close()

    counted: list[int] = []
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert story.stale >= counted[0]


def test_each_line_names_its_session_generation_and_claim(run: Run) -> None:
    assert len(run.lines) == len(run.told) > 20
    for line, told in zip(run.lines, run.told, strict=True):
        named = (line["message"], line["session"], line.get("generation", 0), line.get("claim", 0))
        assert named == (told.kind, told.session, told.generation, told.claim)
        assert line["level"] in {"debug", "info", "warning"}
    assert {line["message"] for line in run.lines} >= {"opened", "claimed", "claim_landed", "detached", "ended"}


def test_no_token_is_in_any_line_trace_or_span(run: Run) -> None:
    assert run.secrets
    spans = [span.to_json() for span in run.spans]
    for text in (json.dumps(run.lines), repr(run.told), *spans, *(line.decode() for line in run.trace.lines)):
        assert not [secret for secret in run.secrets if secret in text]


def test_spans_begin_and_end_with_the_story_and_none_is_left(run: Run) -> None:
    names = Counter(span.name for span in run.spans)
    kinds = Counter(told.kind for told in run.told)
    assert run.open_spans == 0
    assert names["interlock.session"] == kinds["opened"] == kinds["ended"] == 2
    assert names["interlock.claim"] == kinds["claim_landed"]
    assert names["interlock.response"] == kinds["response_began"]
    roots = {span.context.span_id for span in run.spans if span.name == "interlock.session" and span.context}
    assert {span.parent.span_id for span in run.spans if span.parent} <= roots
    for span in run.spans:
        assert span.start_time is not None
        assert span.end_time is not None
        assert 0 <= span.end_time - span.start_time < 60e9


def test_spans_are_made_where_the_api_is_there_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listener() -> object:
        return spans_if_there()

    assert trio.run(listener) is not None
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    assert trio.run(listener) is None


class Failing:
    """A recorder that breaks at its first word."""

    def decided(self, *args: Any) -> None:
        raise ZeroDivisionError

    refused = voided = decided


def test_a_recorder_that_fails_is_let_go_of_alone(caplog: pytest.LogCaptureFixture) -> None:
    story, failing = Story(), Failing()
    several = Several(failing, story)

    async def main() -> None:
        async with play(record=several) as scene:
            session, _ = await scene.open()
            session.append(LOUD)
            session.close()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert several.recorders == [story]
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == [
        "Failing has failed, and is not asked again"
    ]


def test_a_listener_that_fails_is_let_go_of_alone(caplog: pytest.LogCaptureFixture) -> None:
    """What makes spans is somebody else's code, and metrics and log lines are not to end with it."""
    metrics, calls = Metrics(), []

    def failing(told: Told) -> None:
        calls.append(told.kind)
        raise ZeroDivisionError

    async def main() -> None:
        async with play(record=Story(failing, metrics.hear)) as scene:
            session, _ = await scene.open()
            session.close()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert (len(calls), metrics.opened, metrics.ended.total()) == (1, 1, 1)
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == [
        "a listener of what happens to sessions has failed, and is not told again"
    ]


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Histogram((1.0, 2.0))
    for seconds in (0.5, 1.0, 1.5, 7.0):
        histogram.observe(seconds)
    assert histogram.buckets() == [("1.0", 2.0), ("2.0", 3.0), ("+Inf", 4.0)]
    assert (histogram.count, histogram.total_s) == (4, 10.0)


def test_the_exposition_says_what_the_books_say() -> None:
    async def main() -> None:
        story, metrics = Story(), Metrics()
        story = Story(metrics.hear)
        async with play(record=story, max_sessions=2) as scene:
            scene.host.timed = metrics.dispatch.observe
            exposition = Exposition(scene.host, metrics, story)
            session, _ = await scene.open()
            await scene.speak(session)
            values = {
                (sample.name, *sample.labels.values()): sample.value
                for family in text_string_to_metric_families(exposition.text().decode())
                for sample in family.samples
            }
            books = scene.host.limits()
            expected = {
                ("interlock_sessions", "OPEN"): 1,
                ("interlock_attachments", "ATTACHED"): 1,
                ("interlock_journal_bytes",): scene.driver(session).frames.size,
                ("interlock_limit", "max_sessions"): 2,
                ("interlock_high_water", "journal_bytes"): books["journal_bytes"]["high_water"],
                ("interlock_claims_total", "attached", "open"): 1,
                ("interlock_dispatch_seconds_count",): metrics.dispatch.count,
                ("interlock_defects_total",): 0,
            }
            assert {name: values[name] for name in expected} == expected
            assert metrics.dispatch.count > 5

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_every_metric_has_its_line_for_an_operator() -> None:
    async def main() -> list[str]:
        story, metrics = Story(), Metrics()
        async with play(record=story) as scene:
            text = Exposition(scene.host, metrics, story).text().decode()
            return [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]

    names = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    page = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    table = page.partition("## When a number moves")[2].partition("\n## ")[0]
    told = set(re.findall(r"`(interlock_\w+?)(?:\{[^}]*\})?`", table))
    assert told == set(names)
