"""The command line of ``interlock serve``: what it declares, and what is made of it."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from interlock.errors import WorldError
from interlock.serve.config import Config
from interlock.serve.layers import Configured, Given, configured, full_key, no_such
from interlock.transport.origin import is_loopback

SPEAKERS: Final = 8
"""Sessions of the echo agent, where nothing else is said: each that speaks holds a decoder of about 93 MB."""

FLAGS: Final = {
    "host": "host",
    "port": "port",
    "debug": "debug",
    "trace": "trace",
    "workers": "workers",
    "mind": "mind",
    "scripted": "scripted",
    "ahead": "ahead",
    "tls_cert": "tls_cert",
    "tls_key": "tls_key",
    "keys_file": "access.keys_file",
    "auth_hook": "access.hook",
    "open": "access.open",
    "inspect": "pages.inspect_token_file",
    "log_format": "log.format",
    "log_level": "log.level",
}
"""Options that stand for one setting, by the names that argparse gives them."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = HELP
    parser.add_argument("--host", help="address to listen on (default: loopback only)")
    parser.add_argument("--port", help="port; 0 takes a free one (default: 8765)")
    debug = "answer GET /debug/books, which also has the loop's longest stall; on loopback only"
    parser.add_argument("--debug", action="store_const", const="true", help=debug)
    parser.add_argument("--trace", metavar="DIR", help="write every event, for interlock replay")
    parser.add_argument("--workers", choices=("process", "thread"), help="where speech models run (default: process)")
    mind = "answer with the causal language model in this folder (save_pretrained; extra hf) instead of an echo"
    parser.add_argument("--mind", metavar="PATH", help=mind)
    scripted = "no models: a scripted stage hears a turn at each commit and answers with N frames of 40 ms, paced"
    parser.add_argument("--scripted", metavar="N", help=scripted)
    ahead = "with --scripted: so many frames at once, before the pace (default: 12)"
    parser.add_argument("--ahead", metavar="N", help=ahead)
    parser.add_argument("--no-talk", action="store_true", help="do not serve /talk, the page to try a session with")
    inspect = "serve /inspect, every session as it is now, to whoever knows the token in this file (docs/pages.md)"
    parser.add_argument("--inspect", metavar="FILE", help=inspect)
    _who(parser)
    _settings(parser)


def _who(parser: argparse.ArgumentParser) -> None:
    who = parser.add_argument_group("who may come in (docs/security.md)")
    cert = "speak TLS (wss, https) with this certificate and its chain, PEM"
    who.add_argument("--tls-cert", metavar="FILE", help=cert)
    who.add_argument("--tls-key", metavar="FILE", help="the certificate's key, where it is not in the same file")
    who.add_argument("--keys-file", metavar="FILE", help="API keys, one a line, as NAME:KEY or KEY")
    who.add_argument("--auth-hook", metavar="MODULE:FUNCTION", help="ask this function who a client is")
    who.add_argument("--origin", action="append", default=[], help="a web origin that may connect; more than once")
    open_ = "serve other machines without any key"
    who.add_argument("--open", action="store_const", const="true", help=open_)


def _settings(parser: argparse.ArgumentParser) -> None:
    settings = parser.add_argument_group("settings (docs/operations.md)")
    file = "read settings from this file; the environment (INTERLOCK_PORT=...) and flags come before it"
    settings.add_argument("--config", metavar="FILE", type=Path, help=file)
    setting = "any setting, e.g. --set grace_s=60 --set socket.ping_s=5; may be given more than once"
    settings.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help=setting)
    show = "print every setting, its value and where it came from, and serve nothing"
    settings.add_argument("--show-config", action="store_true", help=show)
    settings.add_argument("--log-format", choices=("text", "json"), help="of the error output (default: text)")
    settings.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="(default: info)")


def options(args: argparse.Namespace, environ: dict[str, str] | None = None) -> Configured:
    """Read all layers. Raises :class:`WorldError` for what cannot be served."""
    env = dict(os.environ) if environ is None else environ
    file = args.config or (Path(env["INTERLOCK_CONFIG"]) if env.get("INTERLOCK_CONFIG") else None)
    flags = _flags(args)
    read = configured(flags, file, env, {})
    if not read.config.scripted:
        speakers = {"session.max_sessions": Given(SPEAKERS, "default of the echo agent", text=False)}
        read = configured(flags, file, env, speakers)
    _check(read.config)
    return read


def _flags(args: argparse.Namespace) -> dict[str, Given]:
    flags = {
        key: Given(getattr(args, name), f"--{name.replace('_', '-')}", text=True)
        for name, key in FLAGS.items()
        if getattr(args, name) is not None
    }
    if args.no_talk:
        flags["pages.talk"] = Given("false", "--no-talk", text=True)
    if args.origin:
        flags["access.origins"] = Given(",".join(args.origin), "--origin", text=True)
    for assignment in args.set:
        name, equals, value = assignment.partition("=")
        key = full_key(name)
        if not equals:
            raise WorldError(f"--set {assignment}: is not NAME=VALUE")
        if key is None:
            raise WorldError(f"--set {assignment}: {no_such(name)}")
        flags[key] = Given(value, "--set", text=True)
    return flags


def _check(config: Config) -> None:
    """Refuse what no single setting is to blame for."""
    if not is_loopback(config.host):
        if config.debug:
            raise WorldError(f"--debug shows every session, so it needs a loopback --host; {config.host} is none")
        _check_access(config)
    if config.mind is not None and not (config.mind / "config.json").is_file():
        raise WorldError(f"--mind {config.mind}: has no config.json; a folder written by save_pretrained is wanted")
    if config.mind is not None and find_spec("transformers") is None:
        raise WorldError("--mind needs transformers; pip install 'interlock[hf]'")


def _check_access(config: Config) -> None:
    access = config.access
    has_keys = bool(access.keys.get_secret_value()) or access.keys_file is not None or bool(access.hook)
    if not has_keys and not access.open:
        raise WorldError(
            f"--host {config.host} can be reached from other machines, and no key is asked for: name keys with "
            "--keys-file, a function with --auth-hook, or say --open"
        )


HELP = """\
Serves spoken sessions on one port: WebSocket at /v1/realtime (docs/wire.md), GET /healthz, /readyz and /metrics,
and /talk, a page to try it with.

  interlock serve                         the echo agent on ws://127.0.0.1:8765/v1/realtime, for 8 speakers
  interlock serve --debug --trace out     with GET /debug/books, and every event of every session under out/
  interlock serve --mind PATH             with a language model of your own between recognition and speech
  interlock serve --inspect token.txt     with every session at /inspect, for whoever knows the token in the file
  interlock serve --scripted 50           without any model, for load tests and client development
  interlock serve --show-config           every setting, its value, and where it came from

It prints one JSON line when it listens. On SIGTERM or Ctrl-C no new session is taken, every session gets its terminal
event, and a second JSON line says what is still owed (nothing, as a rule) and how near every limit came. The exit code
is 1 if anything is still held.
"""
