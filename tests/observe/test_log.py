"""Two forms of a log line."""

from __future__ import annotations

import json
import logging
from io import StringIO

import pytest

from interlock.observe.log import Json, Text, begin_logging


def record(message: str = "opened", **about: object) -> logging.LogRecord:
    made = logging.LogRecord("interlock.session", logging.INFO, "", 0, message, None, None)
    vars(made).update(about)
    return made


def test_a_line_for_people_names_what_its_message_does_not() -> None:
    line = Text().format(record("sess_1: failed", session="sess_1", generation=2, why="ended"))
    assert line.endswith("INFO interlock.session sess_1: failed generation=2 why=ended")


def test_a_traceback_follows_the_line() -> None:
    try:
        raise ZeroDivisionError("mine")
    except ZeroDivisionError as error:
        made = record(session="sess_1")
        made.exc_info = (type(error), error, error.__traceback__)
    assert Text().format(made).splitlines()[0].endswith("opened session=sess_1")
    assert "ZeroDivisionError: mine" in Text().format(made)
    assert "ZeroDivisionError: mine" in json.loads(Json().format(made))["traceback"]


def test_a_line_for_machines_is_one_object() -> None:
    line = Json().format(record("two\nlines", session="sess_1", claim=3))
    told = json.loads(line)
    assert "\n" not in line
    assert (told["message"], told["session"], told["claim"], told["level"]) == ("two\nlines", "sess_1", 3, "info")


@pytest.mark.parametrize(("level", "seen"), [("info", 1), ("error", 0)])
def test_everything_goes_to_one_stream(level: str, seen: int) -> None:
    stream, root = StringIO(), logging.getLogger()
    before = root.handlers[:], root.level
    try:
        begin_logging("json", level, stream)
        logging.getLogger("anything").warning("heard")
    finally:
        root.handlers[:], root.level = before
    assert stream.getvalue().count("heard") == seen
