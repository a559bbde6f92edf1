"""``interlock demo``: a conversation in which everything happens that a network and a user do, and the proof that all
of it went well. Printing is its interface.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from interlock.demo.evidence import Evidence

FINE, FAILED, UNUSABLE = 0, 1, 2

HELP: Final = """\
Starts `interlock serve` as a process, and speaks with it in real time, with recordings of a human voice:

  1  it says something, and hears the whole reply
  2  it speaks again while the next reply is playing, and that reply stops (barge-in)
  3  its TCP connection is torn in mid-reply (RST, no goodbye); it resumes with the token and the position that it has
  4  a second client takes the session over in mid-reply, hears the rest, and closes

With --kill-worker, before the last of these:

  +  the process that speaks is killed (SIGKILL) in mid-reply. That reply fails and says why; the session goes on,
     another process takes its place, and what is said next is answered

The timeline is printed as it happens: what the clients do and read, and the states of the server's machines. Then
every promise is checked against what was received and against the server's own trace, each in one line.

  interlock demo                  writes demo-out/: reply-N.wav, trace/*.jsonl.gz, timeline.svg, server.log
  interlock demo --kill-worker    and with a worker that dies while it speaks
  interlock demo --audio DIR      with recordings of your own: NAME.wav (16 kHz mono PCM16), words in NAME.txt

Needs the extras: pip install 'interlock[speech,serve]'. Takes about half a minute.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = HELP
    parser.epilog = "Exit codes: 0 every check holds, 1 one does not, 2 the demo could not be played."
    out = "folder for what it writes (default: demo-out)"
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("demo-out"), help=out)
    kills = "kill the worker process that speaks, in mid-reply"
    parser.add_argument("--kill-worker", action="store_true", help=kills)
    parser.add_argument(
        "--audio", metavar="DIR", type=Path, help="folder of the recordings (default: those that come with Interlock)"
    )


def main(args: argparse.Namespace) -> int:
    """Play, check, and say so. Return 0 when every check holds."""
    from interlock.demo.hearing import missing

    if absent := missing():
        print(
            f"interlock demo: not installed: {', '.join(absent)}; pip install 'interlock[speech,serve]'",
            file=sys.stderr,
        )
        return UNUSABLE
    try:
        return played(args.out, args.audio, kills=args.kill_worker)
    except KeyboardInterrupt:
        print("interlock demo: interrupted; the server was ended", file=sys.stderr)
        return UNUSABLE


def played(out: Path, audio: Path | None, *, kills: bool = False) -> int:
    """Play with all that is needed there. Raises :class:`interlock.errors.WorldError` when it cannot be played."""
    import trio

    from interlock.demo import performance, picture, recordings

    began = time.monotonic()
    turns = recordings.TURNS + recordings.MORE if kills else recordings.TURNS
    said = recordings.load(recordings.find_folder(audio), turns)
    performance.clear(out)
    done = trio.run(partial(performance.perform, out, said, tell, kills=kills))
    evidence = performance.listened(out, performance.gather(out, said, done), tell)
    picture.save(out / "timeline.svg", evidence, done.played.utterances, done.offset)
    held = judged(evidence)
    tell(f"{out}/ has the replies (reply-N.wav), the trace (trace/*.jsonl.gz) and the picture (timeline.svg)")
    tell(f"{'all is well' if held else 'NOT all is well'}, after {time.monotonic() - began:.0f} s")
    return FINE if held else FAILED


def judged(evidence: Evidence) -> bool:
    """Print the verdict of each check; say whether all hold."""
    from interlock.demo.checks import CHECKS, verdicts
    from interlock.demo.checks_of_a_kill import CHECKS_OF_A_KILL

    all_hold = True
    for verdict in verdicts(evidence, (*CHECKS, *CHECKS_OF_A_KILL) if evidence.killed is not None else CHECKS):
        print(f"{'ok  ' if verdict.ok else 'FAIL'}  {verdict.sentence}: {verdict.detail}", flush=True)
        all_hold = all_hold and verdict.ok
    return all_hold


def tell(line: str) -> None:
    """Print one line of what happens, at once."""
    print(line, flush=True)
