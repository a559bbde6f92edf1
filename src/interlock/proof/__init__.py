"""Proof tools: explore, sweep, fuzz and replay, over the same code that runs.

The sweep is here by name; it needs trio alone, and nothing of Interlock's own runtime.
"""

from interlock.proof.plan import Injection, Phase, Plan
from interlock.proof.report import Report
from interlock.proof.run import run_plan
from interlock.proof.scenario import Scenario, scenario
from interlock.proof.sweep import Progress, sweep
from interlock.proof.trial import Misused, Trial
from interlock.proof.verdict import Limits, Outcome, Verdict

__all__ = [
    "Injection",
    "Limits",
    "Misused",
    "Outcome",
    "Phase",
    "Plan",
    "Progress",
    "Report",
    "Scenario",
    "Trial",
    "Verdict",
    "run_plan",
    "scenario",
    "sweep",
]
