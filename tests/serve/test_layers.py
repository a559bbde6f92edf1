"""Where a setting comes from, and what is said of one that is wrong."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import WorldError
from interlock.serve import arguments, options
from interlock.serve.config import Config
from interlock.serve.layers import Configured, fields_by_key, variable_of
from interlock.serve.show import shown

FILE = """
port = 1000
scripted = 3
[session]
grace_s = 10
max_sessions = 100
[access]
origins = ["https://a.example", "https://b.example"]
"""


def configured(*line: str, file: str = "", folder: Path | None = None, **environ: str) -> Configured:
    """Read a command line, a file and an environment."""
    parser = argparse.ArgumentParser()
    arguments(parser)
    if folder is not None:
        (folder / "interlock.toml").write_text(file)
        line = ("--config", str(folder / "interlock.toml"), *line)
    return options(parser.parse_args(line), environ)


def test_a_flag_comes_before_the_environment_before_the_file_before_the_default(tmp_path: Path) -> None:
    environ = {"INTERLOCK_PORT": "2000", "INTERLOCK_SESSION__GRACE_S": "20", "INTERLOCK_SOCKET__PING_S": "7"}
    read = configured("--port", "3000", "--set", "grace_s=30", file=FILE, folder=tmp_path, **environ)
    config, places = read.config, read.places
    told = {
        "port": (config.port, 3000, "--port"),
        "session.grace_s": (config.session.grace_s, 30.0, "--set"),
        "socket.ping_s": (config.socket.ping_s, 7.0, "the variable INTERLOCK_SOCKET__PING_S"),
        "session.max_sessions": (config.session.max_sessions, 100, str(tmp_path / "interlock.toml")),
        "session.idle_s": (config.session.idle_s, 300.0, "default"),
    }
    assert {key: (value, places[key]) for key, (value, _, _) in told.items()} == {
        key: (value, place) for key, (_, value, place) in told.items()
    }
    assert config.access.origins == ("https://a.example", "https://b.example")


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(FILE)
    assert configured(INTERLOCK_CONFIG=str(tmp_path / "a.toml")).config.port == 1000


def test_the_echo_agent_has_room_for_few_where_nothing_is_said() -> None:
    told = [
        (read.config.session.max_sessions, read.places["session.max_sessions"])
        for read in (configured(), configured("--scripted", "1"), configured("--set", "max_sessions=9"))
    ]
    assert told == [(8, "default of the echo agent"), (64, "default"), (9, "--set")]


TEXTS = {
    "host": "localhost",
    "debug": "true",
    "workers": "thread",
    "session.overflow": "drop_oldest",
    "access.keys": "a-key-of-a-test-0123",
    "access.hook": "json:loads",
    "access.open": "yes",
    "access.metrics_open": "1",
    "access.origins": "https://a.example, https://b.example",
    "access.hosts": "voice.example",
    "log.format": "json",
    "log.level": "debug",
}
PATHS = ("tls_cert", "trace", "access.keys_file", "pages.inspect_token_file")


@pytest.mark.parametrize("key", sorted(set(fields_by_key()) - {"tls_key", "mind"}))
def test_every_setting_is_reached_by_a_variable(key: str) -> None:
    section, _, name = key.rpartition(".")
    now = getattr(getattr(Config(), section) if section else Config(), name)
    environ: Any = {variable_of(key): TEXTS.get(key, "some/path" if key in PATHS else str(now))}
    read = configured(**environ)
    assert read.places[key] == f"the variable {variable_of(key)}"
    value = getattr(getattr(read.config, section) if section else read.config, name)
    assert (value != now) is (key in TEXTS or key in PATHS)


@pytest.mark.parametrize(
    ("line", "file", "environ", "told"),
    [
        ((), "port = '8000'", {}, "interlock.toml: port = 8000: Input should be a valid integer"),
        ((), "prot = 1", {}, "interlock.toml: there is no setting 'prot'; did you mean port?"),
        ((), "[session]\ngrace = 1", {}, "there is no setting 'session.grace'; did you mean session.grace_s?"),
        ((), "[session", {}, "interlock.toml: is no TOML"),
        ((), "", {"INTERLOCK_SESSION__GRACE_S": "soon"}, "INTERLOCK_SESSION__GRACE_S: session.grace_s = soon: "),
        ((), "", {"INTERLOCK_SESSION__GRACE_S": "90"}, "session.grace_s from the variable INTERLOCK_SESSION__GRACE_S"),
        (("--port", "high"), "", {}, "--port: port = high: Input should be a valid integer"),
        (("--set", "socket.ping_s=-1"), "", {}, "--set: socket.ping_s = -1: Input should be greater than 0"),
        (("--tls-key", "k.pem"), "", {}, "tls_key from --tls-key: tls_key = k.pem is the key of a certificate"),
        (
            ("--auth-hook", "json:loads", "--set", "hook_s=11"),
            "",
            {},
            "access.hook_s = 11.0 is over socket.handshake_s",
        ),
        (("--set", "bytes_per_s=10"), "", {}, "socket.bytes_per_s from --set: session.frame_bytes = 15728640 is over"),
        (("--debug", "--host", "0.0.0.0"), "", {}, "--debug shows every session, so it needs a loopback --host"),
        (("--host", "0.0.0.0"), "", {}, "no key is asked for: name keys with --keys-file"),
        (("--host", "example.org"), "", {}, "no key is asked for"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_a_remedy(
    line: tuple[str, ...], file: str, environ: dict[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(WorldError, match=re.escape(told)):
        configured(*line, file=file, folder=tmp_path, **environ)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"none\.toml: there is no such file; .*--show-config. prints one"):
        configured("--config", str(tmp_path / "none.toml"))


@pytest.mark.parametrize("how", [("--open",), ("--keys-file", "k"), ("--auth-hook", "json:loads")])
def test_other_machines_are_served_when_somebody_has_decided_who_comes_in(how: tuple[str, ...]) -> None:
    assert configured("--host", "0.0.0.0", *how).config.host == "0.0.0.0"


def test_what_is_shown_is_a_file_that_gives_the_same(tmp_path: Path) -> None:
    line = ("--set", "ping_s=3", "--origin", "https://a", "--origin", "https://b")
    first = configured(*line, file=FILE, folder=tmp_path)
    again = configured(file=shown(first), folder=tmp_path)
    assert again.config == first.config
    assert re.search(r"^ping_s = 3\.0 +# --set: a client that was silent for so long is asked$", shown(first), re.M)


def test_a_secret_is_never_shown() -> None:
    secret = "alice:0123456789abcdef"
    read = configured("--scripted", "1", INTERLOCK_ACCESS__KEYS=secret)
    assert read.config.access.keys.get_secret_value() == secret
    for text in (shown(read), repr(read)):
        assert "0123456789abcdef" not in text
    assert '# keys = "**********"' in shown(read)


def test_a_variable_that_only_looks_like_a_setting_is_told_and_changes_nothing() -> None:
    read = configured(INTERLOCK_SERVICE_HOST="10.0.0.1", INTERLOCK_SESSION__GRACE="1", HOME="x")
    assert read.unknown == ("INTERLOCK_SERVICE_HOST", "INTERLOCK_SESSION__GRACE")
    assert "# INTERLOCK_SERVICE_HOST looks like a setting, and is none\n" in shown(read)


def test_the_file_in_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    block = re.search(r"^```toml\n(.*?)^```$", page, re.M | re.S)
    assert block is not None
    read = configured(file=block[1], folder=tmp_path)
    assert (read.config.port, read.config.session.grace_s, read.config.log.format) == (9000, 60.0, "json")
