"""The command line of ``interlock serve``: what it declares, and what is made of it."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from interlock.errors import WorldError
from interlock.session.settings import Settings

SPEAKERS = 8
"""Sessions of the echo agent, where nothing else is said: each that speaks holds a decoder of about 93 MB."""


class Served(NamedTuple):
    """What ``serve`` needs to know; :func:`options` makes it from the command line."""

    host: str = "127.0.0.1"
    port: int = 8765
    debug: bool = False
    trace: Path | None = None
    workers: str = "process"
    mind: Path | None = None
    scripted: int = 0
    ahead: int = 12
    tls_cert: Path | None = None
    tls_key: Path | None = None
    settings: Settings = Settings()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = HELP
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback only)")
    parser.add_argument("--port", type=int, default=8765, help="port; 0 takes a free one (default: 8765)")
    debug = "answer GET /debug/books, which also has the loop's longest stall; on loopback only"
    parser.add_argument("--debug", action="store_true", help=debug)
    parser.add_argument("--trace", metavar="DIR", type=Path, help="write every event, for interlock replay")
    parser.add_argument("--workers", choices=("process", "thread"), default="process", help="where speech models run")
    mind = "answer with the causal language model in this folder (save_pretrained; extra hf) instead of an echo"
    parser.add_argument("--mind", metavar="PATH", type=Path, help=mind)
    scripted = "no models: a scripted stage hears a turn at each commit and answers with N frames of 40 ms, paced"
    parser.add_argument("--scripted", metavar="N", type=int, default=0, help=scripted)
    ahead = "with --scripted: so many frames at once, before the pace (default: 12)"
    parser.add_argument("--ahead", metavar="N", type=int, default=12, help=ahead)
    cert = "speak TLS (wss, https) with this certificate and its chain, PEM"
    parser.add_argument("--tls-cert", metavar="FILE", type=Path, help=cert)
    key = "the certificate's key, where it is not in the same file"
    parser.add_argument("--tls-key", metavar="FILE", type=Path, help=key)
    setting = "override a limit or a duration, e.g. --set grace_s=60; may be given more than once"
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help=setting)


def options(args: argparse.Namespace) -> Served:
    """Read the command line. Raises :class:`WorldError` for what cannot be served."""
    defaults = {} if args.scripted else {"max_sessions": str(SPEAKERS)}
    settings = settings_of(args.set, defaults)
    served = Served(
        args.host,
        args.port,
        args.debug,
        args.trace,
        args.workers,
        args.mind,
        args.scripted,
        args.ahead,
        args.tls_cert,
        args.tls_key,
        settings,
    )
    if served.tls_key is not None and served.tls_cert is None:
        raise WorldError(f"--tls-key {served.tls_key}: is the key of a certificate; name that with --tls-cert")
    if served.debug and not is_loopback(served.host):
        raise WorldError(f"--debug shows every session, so it needs a loopback --host; {served.host} is none")
    if served.mind is not None and not (served.mind / "config.json").is_file():
        raise WorldError(f"--mind {served.mind}: has no config.json; a folder written by save_pretrained is wanted")
    if served.mind is not None and find_spec("transformers") is None:
        raise WorldError("--mind needs transformers; pip install 'interlock[hf]'")
    if not 0 <= served.port <= 65535:
        raise WorldError(f"--port {served.port}: a port is 0 to 65535")
    return served


def settings_of(assignments: Sequence[str], defaults: Mapping[str, str]) -> Settings:
    """Return the settings with ``NAME=VALUE`` overrides. Raises :class:`WorldError` that names what is wrong."""
    given = dict(defaults)
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        field = Settings.model_fields.get(name)
        if field is None or not equals:
            known = ", ".join(Settings.model_fields)
            raise WorldError(f"--set {assignment}: is not NAME=VALUE with a NAME of {known}")
        given[name] = value
    try:
        return Settings.model_validate_strings(given)
    except ValueError as error:
        raise WorldError(f"--set: {error}") from error


def is_loopback(host: str) -> bool:
    """Say whether an address is reachable from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


HELP = """\
Serves spoken sessions on one port: WebSocket at /v1/realtime (docs/wire.md), and GET /healthz.

  interlock serve                         the echo agent on ws://127.0.0.1:8765/v1/realtime, for 8 speakers
  interlock serve --debug --trace out     with GET /debug/books, and every event of every session under out/
  interlock serve --mind PATH             with a language model of your own between recognition and speech
  interlock serve --scripted 50           without any model, for load tests and client development

It prints one JSON line when it listens. On SIGTERM or Ctrl-C no new session is taken, every session gets its terminal
event, and a second JSON line says what is still owed (nothing, as a rule) and how near every limit came. The exit code
is 1 if anything is still held.
"""
