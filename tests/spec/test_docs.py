"""docs/machines.md knows every key and every rule, and its example is a machine without findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.spec import form
from interlock.spec.check import findings
from interlock.spec.compile import compiled
from interlock.spec.kinds import KINDS
from interlock.spec.plan import blueprint
from interlock.spec.read import parse
from interlock.spec.rules import RULES
from tests.spec.faults import FAULTS
from tests.spec.faults_together import TOGETHER_FAULTS
from tests.spec.test_read import SHAPES

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs/machines.md").read_text()
FORMS = (form.MachineForm, form.MessageForm, form.WorkForm, form.StateForm, form.RowForm)


def test_the_example_has_no_findings_and_compiles() -> None:
    example = re.search(r"```toml\n(.*?)```", DOC, flags=re.DOTALL)
    assert example is not None
    plans = blueprint((parse("lamp.toml", example[1]),))
    assert findings(plans) == ()
    for name, text in compiled(plans, "shop.tables").items():
        compile(text, name, "exec")


@pytest.mark.parametrize("part", FORMS, ids=lambda part: part.__name__)
def test_every_key_is_described(part: type[form.Form]) -> None:
    keys = [field.alias or name for name, field in part.model_fields.items()]
    described = set(re.findall(r"`\[?(\w+)(?:\.Event|\.Name|\.NAME)?\]?`", DOC))
    assert [key for key in keys if key not in described] == []


def test_every_type_is_described() -> None:
    assert [kind for kind in KINDS if f"`{kind}`" not in DOC] == []


def test_every_rule_is_described_and_no_other() -> None:
    named = {rule.name for rule in RULES}
    rows = DOC[DOC.index("## Rules") : DOC.index("## Drawings")]
    described = {
        rule
        for line in rows.splitlines()
        if line.startswith("| `")
        for rule in re.findall(r"`([a-z-]+)`", line.split("|")[1])
    }
    assert named == described
    assert named >= {fault.rule for fault in [*FAULTS, *TOGETHER_FAULTS]} | {shape[2] for shape in SHAPES}
