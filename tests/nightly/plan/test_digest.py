"""What changes the digest of a plan, and what does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan

Plan = Callable[[str], NightPlan]
PLAN = """
[nightly]
[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = { batch = 8, seed = 1 }
workloads = "own"
reference.python = "old/python"
"""


@pytest.mark.parametrize(
    "change",
    [
        "batch = 8>batch = 16",
        'name = "decode">name = "prefill"',
        '"old/python">"new/python"',
        'workloads = "own">workloads = "others"',
        'workloads = "own">pairs = 12',
        'workloads = "own">turn = "1s"',
        "[nightly]>[nightly]\nmachine-state.load = 0.1",
        "[nightly]>[nightly]\nretries = 1",
    ],
)
def test_what_is_measured_changes_the_digest(change: str, plan_of: Plan) -> None:
    before, _, after = change.partition(">")
    assert before in PLAN
    assert plan_of(PLAN.replace(before, after)).digest != plan_of(PLAN).digest


@pytest.mark.parametrize(
    "change",
    [
        "batch = 8, seed = 1>seed = 1, batch = 8",
        "[nightly]>[nightly]\nname = 'x'\nbudget = '1h'\nmachine = 'y'\noutput = 'z'",
        "[nightly]>[nightly] # said again\ndefaults.pairs = 10",
        'workloads = "own">workloads = "own"\nmetrics.step_p50 = 0.1\nfail-on = "bubbles"',
        'workloads = "own">workloads = "own"\nparity = "full"\nchecks = ["true"]',
    ],
)
def test_names_places_and_judgements_do_not(change: str, plan_of: Plan) -> None:
    before, _, after = change.partition(">")
    assert before in PLAN
    assert plan_of(PLAN.replace(before, after)).digest == plan_of(PLAN).digest


def test_a_checkout_elsewhere_has_the_same_digest(tmp_path: Path) -> None:
    digests: set[str] = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tracekit.toml").write_text(PLAN)
        digests.add(read_plan(tmp_path / name / "tracekit.toml").digest)
    assert len(digests) == 1
