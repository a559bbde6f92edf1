"""The page in one file: what is joined, in which order, and that data stays data."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from interlock.pages.assets import text
from interlock.pages.bundle import EXPORT, IMPORT, in_markup, joined, needed, replay_page

LINE = b'{"n":1,"at":1.0,"session":"sess_1","event":{"type":"X","reason":"</script><!--&amp;{style}"}}'
MODULES = needed("replay.js")


def page() -> str:
    """Write a page of one session with one nasty record."""
    return replay_page("a <b> & c", "conforms", "all is </script> well", "", {"sess_1": [LINE]})


def test_modules_come_after_what_they_need() -> None:
    assert MODULES[-1] == "replay.js"
    for place, name in enumerate(MODULES):
        assert {found[2] for found in IMPORT.finditer(text(name))} <= set(MODULES[:place])


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_only_the_forms_that_can_be_joined(name: str) -> None:
    source = text(name)
    assert len(IMPORT.findall(source)) == len(re.findall(r"\bimport\b[^;]*\bfrom\b|\bimport\(", source))
    assert len(EXPORT.findall(source)) == len(re.findall(r"^\s*export\b", source, re.MULTILINE))
    assert "await" not in source
    assert "import.meta" not in source


def test_nothing_of_the_forms_is_left() -> None:
    assert not re.search(r"^(?:import|export)\b", joined("replay.js"), re.MULTILINE)


def test_data_ends_no_script_and_comes_out_as_it_was() -> None:
    data = {"a": "</script><script>alert(1)</script>", "b": "<!-- & -->"}
    written = in_markup(data)
    assert not re.search(r"[<>&]", written)
    assert json.loads(written) == data


def test_the_policy_lets_in_what_is_there_and_nothing_else() -> None:
    written = page()
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', written)[0]
    for tag, opening in (("script", '<script type="module">'), ("style", "<style>")):
        inside = written.partition(opening)[2].partition(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src" not in policy


def test_what_stands_in_data_or_title_fills_no_other_place() -> None:
    written = page()
    data = json.loads(written.partition('type="application/json">')[2].partition("</script>")[0])
    assert data["sessions"] == [{"id": "sess_1", "records": [json.loads(LINE)]}]
    assert data["report"] == "all is </script> well"
    assert "<title>a &lt;b&gt; &amp; c · Interlock</title>" in written
    assert written.count("</script>") == 2
