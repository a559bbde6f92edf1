"""``interlock replay``: hold recorded traces against the tables, from the command line."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from interlock.proof.replay import Replay
from interlock.proof.replay_chart import Chart
from interlock.proof.replay_finding import Unusable
from interlock.proof.replay_html import Pages
from interlock.proof.replay_input import STDIN, Input
from interlock.proof.replay_machines import state_map, target_of
from interlock.proof.replay_report import Report
from interlock.proof.replay_svg import drawn
from interlock.proof.telling import Telling

EPILOG = """\
  interlock replay out                                 a folder that `interlock serve --trace out` wrote
  zcat trace-0001.jsonl.gz | interlock replay -
  interlock replay out --machines machines             is yesterday's traffic the same under these machines?
  interlock replay out --machines main~3:machines --state-map moved.toml
  interlock replay out --html report.html              look at it, and send it: one page, no other file
  interlock replay out --chart --session sess_1 --from 100 --to 200

Exit codes: 0 every record is what the tables say, 1 one is not, or is missing or was changed, 2 the trace cannot be
judged, or not to its end. docs/replay.md has the format, and what is checked.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    add = parser.add_argument
    add(
        "traces",
        nargs="+",
        metavar="TRACE",
        help="trace file, plain or compressed, or a folder of them, or - for stdin",
    )
    add("--machines", metavar="PATH", help="another version: machine file or folder, or either in git as REV:path")
    add("--state-map", metavar="FILE", help='states that took the place of others: TOML or JSON, machine.OLD = "NEW"')
    add("--session", metavar="ID", help="judge only this session")
    add("--from", dest="first", type=_natural, default=1, metavar="N", help="report and draw from this event on")
    add("--to", dest="last", type=_natural, metavar="N", help="stop after this event")
    add("--live", action="store_true", help="the last file may lack its end: it still grows, or its server was killed")
    add("--json", action="store_true", help="print the report as one JSON document")
    add("--chart", action="store_true", help="print a session as a sequence chart")
    add("--html", metavar="OUT", help="write the sessions and the verdict as one self-contained page, for a bug report")
    add("--svg", metavar="OUT", help="write that chart as a drawing")


def main(args: argparse.Namespace) -> int:
    """Replay, print the report, and return its exit code."""
    if args.json and args.chart:
        raise Unusable("--json and --chart both say what is printed; --svg writes a chart beside --json")
    if args.traces.count(STDIN) > 1:
        raise Unusable("standard input, `-`, can be read once")
    target = target_of(args.machines, state_map(args.state_map) if args.state_map else {})
    chart = Chart(args.session or "", args.first) if args.chart or args.svg else None
    replay = Replay(target, args.session, chart, last=args.last)
    told, began = Replaying(), time.perf_counter()
    pages = Pages(args.session) if args.html else None
    read = Input(replay, target, told, live=args.live, keep=pages)
    try:
        read.read(args.traces)
    finally:
        told.done()
    _anything(replay, args)
    findings = [found for found in replay.findings if not found.event or found.event >= args.first]
    report = Report(replay, read, target, findings, time.perf_counter() - began)
    if pages is not None:
        pages.write(Path(args.html), ", ".join(Path(name).name or name for name in args.traces), report)
    _print(report, chart, args)
    return report.code


def _natural(written: str) -> int:
    if not written.isdecimal() or int(written) < 1:
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of 1 or more")
    return int(written)


def _anything(replay: Replay, args: argparse.Namespace) -> None:
    """Refuse to have judged nothing."""
    if args.session is not None and not replay.judged and not replay.findings:
        known = ", ".join(replay.names) or "none"
        raise Unusable(
            f"no session {args.session!r}; the trace has {known}{' and more' if len(replay.names) > 9 else ''}"
        )
    if not replay.events and not replay.findings:
        raise Unusable(f"{args.traces[0]}: has no event: nothing was judged")


def _print(report: Report, chart: Chart | None, args: argparse.Namespace) -> None:
    if chart is not None and args.svg:
        try:
            Path(args.svg).write_text(drawn(chart))
        except OSError as wrong:
            raise Unusable(f"{args.svg}: cannot be written: {wrong.strerror}") from None
    if chart is not None and args.chart:
        sys.stdout.write(f"{chart}\n")
        if chart.others:
            sys.stdout.write("one session of several; say which with --session\n")
    sys.stdout.write(f"{report.as_json() if args.json else report}\n")


class Replaying(Telling):
    """Says how far a replay is."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.perf_counter()

    def __call__(self, replay: Replay, part: float) -> None:
        """Say it, if the time has come."""
        seconds = time.perf_counter() - self.began
        whole = f", {part:.0%}" if part else ""
        self.say(seconds, lambda: f"replay: {replay.events:,} events{whole}, {replay.events / seconds:,.0f} a second")
