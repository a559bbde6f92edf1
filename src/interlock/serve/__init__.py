"""``interlock serve``: the composition root. One host, its stages, its door, made from the command line.

The one place that knows all layers. It prints one JSON line when it listens and one when it has stopped; the second
has everything that is still owed, and the exit code says whether anything is.
"""

from __future__ import annotations

import argparse
import logging
import sys

import trio

from interlock.observe.log import begin_logging
from interlock.serve.options import arguments, options
from interlock.serve.run import say, serve
from interlock.serve.show import shown

__all__ = ["arguments", "main", "options", "serve"]

HELD = ("owed", "slots", "requests", "journal_bytes", "input_bytes")
"""What must be empty, or 0, when a server has stopped."""


def main(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Return 0 when nothing was left owed, else 1."""
    read = options(args)
    if args.show_config:
        sys.stdout.write(shown(read))
        return 0
    begin_logging(read.config.log.format, read.config.log.level)
    for name in read.unknown:
        logging.getLogger("interlock").warning("the variable %s looks like a setting, and is none", name)
    books = trio.run(serve, read.config)
    say({"event": "stopped", **books})
    return 1 if any(books[name] for name in HELD) else 0
