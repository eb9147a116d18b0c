"""What differs between sides: what runs were made with, conditions, findings, work by label."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.result import Check, Result, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Process, Provenance
from tracekit.compare.compare import compare
from tracekit.compare.differences import (
    CROWDED,
    Became,
    Condition,
    Difference,
    Kernel,
    Weight,
    conditions,
    differences,
    finding_changes,
    kernel_changes,
)
from tracekit.compare.verdicts import Verdict

Make = Callable[..., Any]
TIMES = [1000] * 40


def test_other_work_and_another_recorder_make_a_comparison_void(sample: Make) -> None:
    run = sample(TIMES)
    assert differences([run], [run]) == ()
    other = sample(TIMES, workload="paged", recorder="xctrace", recorder_version="26.0")
    compared = compare([run], [other])
    assert compared.environment[0] == Difference("workload", "burn", "paged", Weight.VOID)
    assert [one.what for one in compared.void] == ["workload", "recorder"]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("chip", {"machine": {"chip": "Apple M4", "cores": 8, "os": "macOS 26.0", "mlx": "0.32"}}),
        ("templates", {"templates": ("Metal System Trace",)}),
        ("time limit", {"time_limit": 5.0}),
        ("warm-up steps", {"warmup": 0}),
        ("git commit", {"git_commit": "abc-dirty"}),
        ("tracekit", {"tracekit": "0.2.0"}),
        ("parameter batch", {"parameters": {"batch": 16}}),
    ],
)
def test_what_else_differs_is_marked(sample: Make, what: str, change: dict[str, Any]) -> None:
    (found,) = differences([sample(TIMES)], [sample(TIMES, **change)])
    assert (found.what, found.weight) == (what, Weight.MARKED)


def test_values_of_a_side_stand_together_and_missing_ones_are_not_stated(sample: Make) -> None:
    bare, eight, sixteen = (
        sample(TIMES, parameters=one) for one in ({}, {"batch": 8}, {"batch": 16})
    )
    (found,) = differences([eight, sixteen], [bare])
    assert (found.before, found.after) == ("8, 16", "not stated")


def test_programs_are_told_by_their_command_and_exports_do_not_tell(sample: Make) -> None:
    def made(recorder: str = "host", **parts: Any) -> Any:
        run = sample(TIMES)
        return replace(run, result=Result(Provenance(recorder=recorder, **parts)))

    one, other = made(command=("llama-bench",)), made(command=("mlx_lm",))
    assert differences([one], [other])[0].weight is Weight.VOID
    traced = [made(targets=(Process(pid, "probe"),)) for pid in (41, 42)]
    assert differences([traced[0]], [traced[1]]) == (), "a process has a number of its own"
    assert differences([traced[0]], [one])[0].weight is Weight.MARKED, "one does not tell its work"
    first, second = (made("import", workload=name) for name in ("a", "b"))
    assert differences([first], [second]) == (), "an import is named after its folder"
    (found,) = differences([first], [made("xctrace", workload="paged")])
    assert (found.what, found.before, found.weight) == ("workload", "not stated", Weight.MARKED)


CONTENDED = Finding("gpu-contended", Severity.WARNING, "Another process ran.", "")
IDLE = Finding("bubbles", Severity.WARNING, "The GPU was idle.", "Submit ahead.", saving=1000)


def test_what_the_machine_did_to_most_runs_of_one_side_is_a_condition(sample: Make) -> None:
    quiet, contended = sample(TIMES, "a"), sample(TIMES, "b", findings=[CONTENDED])
    words = "gpu-contended was found in b"
    assert conditions([quiet], [contended]) == (Condition("after", "gpu-contended", words),)
    assert conditions([contended], [quiet])[0].side == "before"
    assert conditions([contended], [contended]) == ()
    assert conditions([quiet], [contended, quiet]) == (), "a half is not most"
    assert len(conditions([quiet], [contended, contended, quiet])) == 1
    assert conditions([quiet], [sample(TIMES, findings=[IDLE])]) == (), "that is the work's"


@pytest.mark.parametrize(
    ("others", "spoils"), [(0.81, True), (0.79, False), (0.1, False), (None, False)]
)
def test_a_full_machine_spoils_times_of_either_direction(
    sample: Make, make: Any, others: float | None, *, spoils: bool
) -> None:
    slow = make.noisy(1_300_000, seed=2)
    at = range(0, sum(slow), sum(slow) // 20) if others is not None else [10**12]
    own = 1.0 if others is None or others > 0.2 else 1.75
    samples = pd.DataFrame({"time": list(at), "cpu": own, "machine": own + (others or 1)})
    machine = {"chip": "a chip", "cores": 2}
    tables = make.tables(slow) | {"process_samples": samples}
    full, quick = sample(slow, "busy", tables=tables, machine=machine), sample(make.noisy(10**6))
    found = conditions([quick], [full])
    assert [one.what for one in found] == [CROWDED] * spoils
    begin = sum(slow) // 2 + 1  # the last samples are those of a machine at rest
    rest = samples.assign(machine=samples["machine"].where(samples["time"] < begin, own))
    calm = tables | {"process_samples": rest, "phases": tables["phases"].assign(start=begin)}
    assert conditions([quick], [sample(slow, tables=calm, machine=machine)]) == ()
    if spoils:
        assert found[0].words == "other processes used 0.8 of 2 cores in busy"
        assert compare([quick], [full]).verdict is Verdict.UNCLEAR
        assert compare([full], [quick]).verdict is Verdict.UNCLEAR
        assert len(conditions([full], [full])) == 2


def found(sample: Make, *findings: Finding) -> Any:
    return sample(TIMES, findings=findings, checks=[Check("bubbles", Status.FOUND)])


def test_new_and_gone_are_what_the_other_side_looked_for(sample: Make) -> None:
    passed = sample(TIMES, checks=[Check("bubbles", Status.PASSED)])
    blind = sample(TIMES, checks=[Check("bubbles", Status.ABSTAINED, "there is no table.")])
    idle = found(sample, IDLE)
    for before, after, course, reason in (
        (passed, idle, Became.APPEARED, ""),
        (idle, passed, Became.GONE, ""),
        (idle, blind, Became.UNKNOWN, "there is no table."),
        (sample(TIMES), idle, Became.UNKNOWN, "the rule was not among those that judged"),
    ):
        (change,) = finding_changes([before], [after])
        assert (change.course, change.reason) == (course, reason)


@pytest.mark.parametrize(
    ("change", "course"),
    [
        ({}, Became.STAYED),
        ({"saving": None}, Became.STAYED),
        ({"saving": 1199}, Became.STAYED),
        ({"saving": 1200}, Became.GREW),
        ({"saving": 800}, Became.SHRANK),
        ({"severity": Severity.ERROR, "saving": 1}, Became.GREW),
        ({"severity": Severity.NOTE, "saving": 9999}, Became.SHRANK),
    ],
)
def test_a_finding_grows_with_its_severity_and_what_it_costs(
    sample: Make, change: dict[str, Any], course: Became
) -> None:
    small = replace(IDLE, severity=Severity.NOTE, saving=1)
    after = replace(IDLE, **change)
    (seen,) = finding_changes([found(sample, small, IDLE)], [found(sample, after, small)])
    assert (seen.course, seen.before, seen.after) == (course, IDLE, after)


def test_new_ones_come_first_and_several_runs_are_counted(sample: Make) -> None:
    other = replace(IDLE, rule="another")
    checks = [Check(rule, Status.PASSED) for rule in ("bubbles", "another")]
    before = [found(sample, other), found(sample, other), sample(TIMES, checks=checks)]
    changes = finding_changes(before, [found(sample, IDLE, other)])
    assert [(one.rule, one.runs_before) for one in changes] == [("another", 2), ("bubbles", 0)]
    assert changes[1].course is Became.UNKNOWN, "two runs before say nothing of it"


def run(sample: Make, *rows: tuple[str, int | None], theirs: int = 0) -> Any:
    rows = (*rows, *[("window", 99)] * theirs)
    frame = pd.DataFrame(
        {
            "start": range(len(rows)),
            "duration": pd.array([length for _, length in rows], dtype="Int64"),
            "label": [label for label, _ in rows],
            "target": [label != "window" for label, _ in rows],
        }
    )
    return sample(TIMES, tables={"gpu_intervals": frame})


def test_equal_labels_are_equal_work_of_the_target_whatever_process_and_number(
    sample: Make,
) -> None:
    before = run(sample, *(("paged      ( python3 (4711) )  0xf1", one) for one in (10, 20, 30)))
    rows = [("paged      ( python3 (815) )  0xa2", one) for one in (20, 40, 60, None)]
    (change,) = kernel_changes([before], [run(sample, *rows, theirs=1)])
    assert (change.label, change.ratio) == ("paged", 2)
    assert (change.before, change.after) == (Kernel(3, 60, 20, 29), Kernel(3, 120, 40, 58))
    runs = [run(sample, ("a", one)) for one in (10, 30, 20)]
    (tiny,) = kernel_changes([run(sample, ("a", 1))], [run(sample, ("a", 2))])
    assert tiny.ratio == 2
    (median,) = kernel_changes(runs, runs[:1])
    assert median.ratio == pytest.approx(0.5)


def test_what_moved_most_time_comes_first_and_new_and_gone_have_one_side(sample: Make) -> None:
    before = run(sample, ("a", 10), ("b", 100), ("c", 50), ("old", 5))
    after = run(sample, ("a", 70), ("b", 100), ("c", 20), ("new", 40))
    changes = kernel_changes([before], [after])
    assert [one.label for one in changes] == ["a", "new", "c", "old", "b"]
    assert (changes[1].before, changes[3].after, changes[3].ratio) == (None, None, None)
    gone = replace(sample(TIMES), tables=None)
    assert kernel_changes([gone], [gone]) == ()
