"""The house rules of docs/STYLE.md that no linter knows, over every file of the tree.

Each rule takes one file and yields what is wrong and where. `test_each_rule_catches_its_fault` plants a fault for every
rule and a harmless twin beside it, so that no rule is here that cannot fail, or that cries wolf.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import pytest

from interlock.tables import TABLES

ROOT = Path(__file__).parent.parent
FILE_LINES = 400
FUNCTION_LINES = 50
PURE = ("machine", "spec", "tables", "wire", "session")
IMPURE = {"time", "datetime", "random", "secrets", "uuid", "logging", "trio", "torch", "asyncio", "threading", "socket"}


@dataclass(frozen=True)
class Source:
    """One file of the tree: its path from the root, and its text."""

    path: str
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All syntax nodes of a Python file; none of another."""
        return list(ast.walk(ast.parse(self.text, self.path))) if self.path.endswith(".py") else []

    @property
    def in_package(self) -> bool:
        """Whether it is our own code, written by hand."""
        return self.path.startswith("src/") and not self.path.startswith("src/interlock/tables/")

    @property
    def is_ours(self) -> bool:
        """Whether it is code or a test, written by hand."""
        return self.path.endswith(".py") and (self.in_package or self.path.startswith("tests/"))

    @property
    def is_pure(self) -> bool:
        """Whether it belongs to the layers that take time and chance as events."""
        parts = PurePosixPath(self.path).parts
        return parts[:2] == ("src", "interlock") and PurePosixPath(parts[2]).stem in PURE

    def lines(self, pattern: str) -> Iterator[tuple[int, str]]:
        """Yield the number of each line with a match, and the match."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.search(pattern, line):
                yield number, match.group()


Finding = tuple[int, str]
Rule = Callable[[Source], Iterator[Finding]]


def file_fits_in_one_sitting(source: Source) -> Iterator[Finding]:
    """A file has at most about 400 lines."""
    count = len(source.text.splitlines())
    if source.is_ours and count > FILE_LINES:
        yield 1, f"{count} lines; over {FILE_LINES} a file is two: cut it where its subject changes"


def function_fits_on_a_screen(source: Source) -> Iterator[Finding]:
    """A function has at most about 50 lines, its docstring not counted."""
    for node in source.nodes if source.is_ours else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                count -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if count > FUNCTION_LINES:
                yield node.lineno, f"`{node.name}` has {count} lines; over {FUNCTION_LINES}: cut it by effect"


def name_says_what_it_is(source: Source) -> Iterator[Finding]:
    """No file and no class is called utils, helpers, manager or base."""
    if source.path.endswith(".py"):
        for part in PurePosixPath(source.path).with_suffix("").parts:
            if re.fullmatch(r"(?:.*_)?(?:utils?|helpers?|managers?|base)", part):
                yield 1, f"`{part}` says nothing; name it for what it knows"
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and re.search(r"(?:Utils?|Helpers?|Managers?|Base)(?=[A-Z_]|$)", node.name):
            yield node.lineno, f"class `{node.name}` says nothing; name it for what it knows"


def only_perform_catches_all(source: Source) -> Iterator[Finding]:
    """`except Exception` stands in runtime/perform.py alone, where a failed effect becomes an event."""
    if not source.is_ours or source.path == "src/interlock/runtime/perform.py":
        return
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(kind is None or (isinstance(kind, ast.Name) and kind.id == "Exception") for kind in kinds):
                yield node.lineno, "catches everything; name what you expect, or BaseException, roll back and re-raise"


def no_test_sleeps(source: Source) -> Iterator[Finding]:
    """A test waits for what it wants, under trio's clock; `asyncio.sleep(0)` is a checkpoint and may stay."""
    for node in source.nodes if source.path.startswith("tests/") else ():
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "asyncio"):
            if any(alias.name == "sleep" for alias in node.names):
                yield node.lineno, f"imports `sleep` from {node.module}; wait for an event instead"
        elif isinstance(node, ast.Call) and re.fullmatch(
            r"time\.sleep\(.*|asyncio\.sleep\((?!0\)).*", ast.unparse(node)
        ):
            yield (
                node.lineno,
                f"`{ast.unparse(node)}` makes a slow test that fails by chance; wait for an event instead",
            )


def work_left_is_an_issue(source: Source) -> Iterator[Finding]:
    """What is left to do is an issue, with an owner, and no remark in the code."""
    if source.path.endswith((".py", ".toml", "Makefile", ".js", ".html")):
        for number, match in source.lines(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b"):
            yield number, f"`{match}`: do it, or file it"


def pure_layers_await_nothing(source: Source) -> Iterator[Finding]:
    """Nothing in machine, spec, tables, wire or session awaits, reads a clock, draws a number or logs."""
    for node in source.nodes if source.is_pure else ():
        line = getattr(node, "lineno", 1)
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await):
            yield line, "awaits in a pure layer; emit an effect and take its outcome as an event"
        elif isinstance(node, ast.comprehension) and node.is_async:
            yield node.target.lineno, "awaits in a pure layer; emit an effect and take its outcome as an event"
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            if name.split(".")[0] in IMPURE:
                yield line, f"imports `{name}` in a pure layer; time and chance come in as events"


def transitions_live_in_toml(source: Source) -> Iterator[Finding]:
    """A transition is named only in machines/*.toml: no code assigns a state by its name. Comparing is fine."""
    for node in source.nodes if source.in_package else ():
        pairs: list[tuple[ast.expr | str, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Call):
            pairs = [(keyword.arg or "", keyword.value) for keyword in node.keywords]
        for target, value in pairs:
            if value is not None and holds_a_state(target) and (name := named_state(value)):
                yield value.lineno, f"assigns {name}; write the transition in machines/*.toml"


def holds_a_state(target: ast.expr | str) -> bool:
    """Tell whether what is assigned to is called a state: `state`, `self._state`, `states[key]`, `lease_state`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    name = target if isinstance(target, str) else ast.unparse(target).rpartition(".")[2]
    return re.fullmatch(r"(?:.*_)?states?", name) is not None


STATES = {info.name for table in TABLES.values() for info in table.states}


def named_state(value: ast.expr) -> str:
    """Give the state that an expression names, as text or as a member, if it is one."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        name = value.value
    elif isinstance(value, ast.Attribute | ast.Name):
        name = ast.unparse(value).rpartition(".")[2]
    else:
        return ""
    return name if name in STATES else ""


def no_place_of_our_own(source: Source) -> Iterator[Finding]:
    """No file names a package host, or an absolute path of somebody's machine."""
    hosts = (
        r"\b(?:pypi|pythonhosted|npmjs|download\.pytorch|debian|ubuntu|golang)\.(?:org|com)\b|--(?:extra-)?index-url"
    )
    for number, match in source.lines(hosts):
        yield number, f"names the package host `{match}`; an installer knows its own"
    for number, match in source.lines(r"(?<![\w.$)}>*~-])/(?:home|Users|root|work|farm|mnt|srv|opt)/\w[\w./-]*"):
        yield number, f"names `{match}`, a path of one machine"


RULES: list[Rule] = [
    file_fits_in_one_sitting,
    function_fits_on_a_screen,
    name_says_what_it_is,
    only_perform_catches_all,
    no_test_sleeps,
    work_left_is_an_issue,
    pure_layers_await_nothing,
    transitions_live_in_toml,
    no_place_of_our_own,
]


def tree(root: Path) -> Iterator[Source]:
    """Read every text file that git has or would take; below a plain folder, every file."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    paths = listed.stdout.split("\0") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    for path in sorted(filter(None, paths)):
        if (root / path).is_file():
            content = (root / path).read_bytes()
            if b"\0" not in content:
                yield Source(PurePosixPath(path).as_posix(), content.decode())


def scan(rule: Rule, root: Path) -> list[str]:
    """Apply one rule to a tree; each finding is one line that an editor can jump to."""
    return [f"{source.path}:{line}: {what}" for source in tree(root) for line, what in rule(source)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_is_tidy(rule: Rule) -> None:
    findings = scan(rule, ROOT)
    assert not findings, f"{rule.__doc__}\n" + "\n".join(findings)


PURE_FILE = "src/interlock/wire/a.py"
PY = "src/interlock/a.py"
TEST = "tests/test_a.py"
SIZED = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
DOCUMENTED = 'def f():\n    """' + "A line.\n" * 60 + '"""\n'

# rule, path, a fault, where it is found, and a harmless twin
PLANTED = [
    (file_fits_in_one_sitting, PY, "x = 1\n" * 401, 1, "x = 1\n" * 400),
    (file_fits_in_one_sitting, TEST, "x = 1\n" * 401, 1, "x = 1\n" * 400),
    (function_fits_on_a_screen, PY, SIZED, 1, DOCUMENTED),
    (function_fits_on_a_screen, TEST, "async " + SIZED, 1, SIZED.replace("    x = 1\n", "", 1)),
    (name_says_what_it_is, "src/interlock/wire/utils.py", "", 1, None),
    (name_says_what_it_is, "src/interlock/base/a.py", "", 1, None),
    (name_says_what_it_is, PY, "class SessionManager: ...", 1, "class Database: ..."),
    (name_says_what_it_is, PY, "class BaseStage: ...", 1, "class Base64Codec: ..."),
    (
        only_perform_catches_all,
        PY,
        "try: f()\nexcept Exception: g()",
        2,
        "try: f()\nexcept KeyError: g()",
    ),
    (
        only_perform_catches_all,
        PY,
        "try: f()\nexcept: g()",
        2,
        "try: f()\nexcept BaseException: raise",
    ),
    (only_perform_catches_all, TEST, "try: f()\nexcept (OSError, Exception): g()", 2, "f()"),
    (only_perform_catches_all, TEST, "try: f()\nexcept* Exception: g()", 2, "f()"),
    (no_test_sleeps, TEST, "import time\ntime.sleep(1)", 2, "import trio\ntrio.sleep(1)"),
    (no_test_sleeps, TEST, "import asyncio\nasyncio.sleep(0.1)", 2, "import asyncio\nasyncio.sleep(0)"),
    (no_test_sleeps, TEST, "from time import sleep", 1, "from time import monotonic"),
    (work_left_is_an_issue, PY, "# TO" + "DO later", 1, "# to do later"),
    (work_left_is_an_issue, "machines/a.toml", "# FIX" + "ME", 1, "# fixed"),
    (pure_layers_await_nothing, "src/interlock/session/a.py", "async def f(): ...", 1, "import hmac, hashlib"),
    (pure_layers_await_nothing, PURE_FILE, "import time", 1, "import timeit"),
    (pure_layers_await_nothing, "src/interlock/wire.py", "from secrets import token_bytes", 1, "import struct"),
    (pure_layers_await_nothing, "src/interlock/machine/a.py", "def f():\n    import logging", 2, "from .time import x"),
    (pure_layers_await_nothing, "src/interlock/tables/a.py", "import trio.lowlevel", 1, "import interlock.errors"),
    (pure_layers_await_nothing, "src/interlock/spec/a.py", "import random as r", 1, "import tomllib"),
    (transitions_live_in_toml, PY, 'state = "ATTACHED"', 1, 'if state == "ATTACHED": ...'),
    (transitions_live_in_toml, PY, "self._state = State.OPEN", 1, "self._state = step.state"),
    (transitions_live_in_toml, PY, 'states["lease"] = "HELD"', 1, 'states["lease"] = new'),
    (transitions_live_in_toml, PY, 'x = replace(y, state="HELD")', 1, "x = replace(y, state=new)"),
    (
        transitions_live_in_toml,
        PY,
        'class A:\n    state: str = "OPEN"',
        2,
        "class A:\n    state: str",
    ),
    (no_place_of_our_own, "Makefile", "pip install --index-" + "url x", 1, "pip install x"),
    (no_place_of_our_own, "docs/a.md", "see https://pypi" + ".org/x", 1, "see the package index"),
    (no_place_of_our_own, "docs/a.md", "cd /" + "home/me/interlock", 1, "cd ../home/me; see docs/work/a"),
]


@pytest.mark.parametrize(("rule", "path", "fault", "line", "twin"), PLANTED)
def test_each_rule_catches_its_fault(
    tmp_path: Path, rule: Rule, path: str, fault: str, line: int, twin: str | None
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(fault)
    assert [finding.split(": ")[0] for finding in scan(rule, tmp_path)] == [f"{path}:{line}"]
    if twin is not None:
        file.write_text(twin)
        assert scan(rule, tmp_path) == []


def test_no_rule_is_untried() -> None:
    assert {rule for rule, *_ in PLANTED} == set(RULES)


def test_perform_may_catch_all(tmp_path: Path) -> None:
    file = tmp_path / "src/interlock/runtime/perform.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("try: f()\nexcept Exception: g()")
    assert scan(only_perform_catches_all, tmp_path) == []


def test_generated_tables_name_states(tmp_path: Path) -> None:
    file = tmp_path / "src/interlock/tables/lease.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('state = "HELD"\n' * 500)
    assert [finding for rule in RULES for finding in scan(rule, tmp_path)] == []
