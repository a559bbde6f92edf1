"""The files that a release has beside its code say the same as the code."""

from __future__ import annotations

import re
import tomllib

import yaml

from interlock import __version__
from tests.release.environment import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_citation_names_this_version_and_its_licences() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "type"} <= set(citation)
    assert citation["version"] == __version__
    assert " AND ".join(citation["license"]) == PROJECT["project"]["license"]


def test_every_licence_is_there() -> None:
    for name in PROJECT["project"]["license-files"]:
        assert (ROOT / name).stat().st_size > 1000


def test_the_changelog_has_a_place_for_what_is_next_and_one_heading_of_each_kind() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    unreleased = text[text.index("## [Unreleased]") :]
    kinds = re.findall(r"^### (\w+)$", unreleased, re.M)
    assert kinds
    assert sorted(kinds) == sorted(set(kinds))
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_every_extra_is_set_up_by_make() -> None:
    named = re.findall(r"-e '\.\[([\w,]+)\]'", (ROOT / "Makefile").read_text())
    installed = {extra for names in named for extra in names.split(",")}
    by_others = {"torch": "speech", "proof": "dev"}
    assert set(by_others.values()) <= installed
    assert set(PROJECT["project"]["optional-dependencies"]) - installed - set(by_others) == set()
