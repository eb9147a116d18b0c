"""What `auto` means on a machine that was probed."""

from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity, Mode
from tracekit.record.doctor.examine import advised
from tracekit.workload.plan import Plan
from tracekit.workload.workload import Step, Workload


def prepare() -> Step:
    raise AssertionError


WORKLOAD = Plan(workload=Workload("paged", Path("paged.py"), prepare))
PROGRAM = Plan(command=("/bin/ls",))


def matrix(*ways: tuple[Mode, bool]) -> Capabilities:
    combinations = tuple(
        Combination(mode, counters=counters, rows=9, counter_rows=9, saving=12.4)
        for mode, counters in ways
    )
    return Capabilities(Identity(), "2026-11-20", combinations)


EVERYTHING = matrix(("launch", False), ("attach", False), ("launch", True), ("attach", True))


@pytest.mark.parametrize("plan", [WORKLOAD, PROGRAM])
def test_a_machine_that_was_never_probed_changes_nothing(plan: Plan) -> None:
    assert advised(plan, None) == (plan, ())


def test_counters_that_came_are_asked_for_and_it_is_said() -> None:
    plan, [note] = advised(WORKLOAD, EVERYTHING)
    assert (plan.counters, plan.method) == ("on", "auto")
    assert "saving took 12 s" in note
    assert "--counters off" in note


def test_a_workload_is_attached_to_where_launching_gave_nothing() -> None:
    plan, notes = advised(WORKLOAD, matrix(("attach", False)))
    assert (plan.counters, plan.method) == ("auto", "attach")
    assert "--method" in notes[0]
    plan, notes = advised(WORKLOAD, matrix(("attach", False), ("attach", True)))
    assert (plan.counters, plan.method) == ("on", "attach")
    assert len(notes) == 2


@pytest.mark.parametrize("counters", ["on", "off"])
@pytest.mark.parametrize("method", ["launch", "attach"])
def test_what_a_user_asked_for_stays(counters: str, method: str) -> None:
    asked = replace(WORKLOAD, counters=counters, method=method)
    for known in (EVERYTHING, matrix(), matrix(("attach", True))):
        assert advised(asked, known) == (asked, ())


def test_counters_that_only_attaching_gives_are_not_asked_of_a_launch() -> None:
    known = matrix(("attach", False), ("attach", True))
    asked = replace(WORKLOAD, method="launch")
    assert advised(asked, known) == (asked, ())


def test_a_program_cannot_be_attached_to_by_advice() -> None:
    plan, _ = advised(PROGRAM, matrix(("attach", False)))
    assert plan == PROGRAM


def test_a_template_of_ones_own_keeps_its_own_counters() -> None:
    own = replace(WORKLOAD, templates=("/t/Mine.tracetemplate",))
    assert advised(own, EVERYTHING) == (own, ())
