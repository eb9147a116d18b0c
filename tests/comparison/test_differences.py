"""What differs between sides: what runs were made with, conditions, findings, work by label."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from choice_values import choice_values
from step_samples import Broken, noisy, sample_of, tables_of
from tracekit.analysis.result import Result, RuleCheck, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES
from tracekit.base import Verdict
from tracekit.base.choices import RecordingChoices
from tracekit.base.recording import Process, Provenance
from tracekit.comparison.compare import compare
from tracekit.comparison.conditions import CROWDED, STATES_OF_THE_MACHINE, Condition, conditions
from tracekit.comparison.differences import Difference, Weight, differences
from tracekit.comparison.findings import Became, finding_changes
from tracekit.comparison.kernels import Kernel, kernel_changes

TIMES = [1000] * 40


def test_conditions_are_found_by_rules_that_exist() -> None:
    assert set(STATES_OF_THE_MACHINE) <= set(RULES)


def test_other_work_and_another_recorder_make_a_comparison_void() -> None:
    run = sample_of(TIMES)
    assert differences([run], [run]) == ()
    other_sample = sample_of(TIMES, workload="paged", recorder="xctrace", recorder_version="26.0")
    compared = compare([run], [other_sample])
    assert compared.environment[0] == Difference("workload", "burn", "paged", Weight.VOID)
    assert [difference.what for difference in compared.void] == ["workload", "recorder"]


def test_other_differences_are_marked() -> None:
    names = "chip model gpu_cores cores memory architecture rosetta os release python mlx".split()
    provenance_fields: dict[str, Any] = {
        "method": "attach",
        "counters": "on",
        "tracekit": "0.2.0",
        "git_commit": "abc-dirty",
    }
    provenance_fields |= {"warmup": 0, "time_limit": 5.0, "repeats": 3, "parameters": {"batch": 16}}
    provenance_fields |= {"templates": ("a", "b"), "instruments": ("c", "d"), "machine": {"odd": 1}}
    found_differences = differences(
        [sample_of(TIMES, machine={})], [sample_of(TIMES, **provenance_fields)]
    )
    assert {(difference.what, difference.after) for difference in found_differences} == {
        *{("method", "attach"), ("counters", "on"), ("tracekit", "0.2.0"), ("repeats", "3")},
        *{("git commit", "abc-dirty"), ("warm-up steps", "0"), ("time limit", "5.0")},
        *{("templates", "a, b"), ("instruments", "c, d"), ("parameter batch", "16")},
    }
    machines = [sample_of(TIMES, machine=dict.fromkeys(names, side)) for side in ("old", "new")]
    found_differences += differences(machines[:1], machines[1:])
    assert {difference.what for difference in found_differences[-11:]} == {
        *("chip", "model", "GPU cores", "cores", "memory", "architecture", "Rosetta"),
        *("operating system", "kernel", "Python", "MLX"),
    }
    assert {difference.weight for difference in found_differences} == {Weight.MARKED}


def test_every_choice_that_is_compared_is_a_condition_of_its_own() -> None:
    for name, option in RecordingChoices.options():
        changed = sample_of(TIMES, **{name: choice_values()[name]})
        names = [difference.what for difference in differences([sample_of(TIMES)], [changed])]
        if option.condition:
            assert names == [option.condition], name
        else:
            assert option.uncompared, name


def test_values_of_a_side_are_grouped_and_missing_ones_left_out() -> None:
    samples = [sample_of(TIMES, parameters={"batch": batch}) for batch in (8, 16, 8)]
    (difference,) = differences(samples, [sample_of(TIMES)])
    assert (difference.before, difference.after) == ("8, 16", "not stated")


def test_programs_are_identified_by_their_command_and_exports_have_none() -> None:
    def make_sample(recorder: str = "host", **parts: Any) -> Any:
        run = sample_of(TIMES)
        return replace(run, result=Result(Provenance(recorder=recorder, **parts)))

    bench, server = make_sample(command=("llama-bench",)), make_sample(command=("mlx_lm",))
    assert differences([bench], [server])[0].weight is Weight.VOID
    traced = [make_sample(targets=(Process(pid, "probe"),)) for pid in (41, 42)]
    assert differences([traced[0]], [traced[1]]) == (), "a process has a number of its own"
    assert differences([traced[0]], [bench])[0].weight is Weight.MARKED, (
        "one does not tell its work"
    )
    first_import, second = (make_sample("import", workload=name) for name in ("a", "b"))
    assert differences([first_import], [second]) == (), "an import is named after its folder"
    (difference,) = differences([first_import], [make_sample("xctrace", workload="paged")])
    assert (difference.what, difference.before, difference.weight) == (
        "workload",
        "not stated",
        Weight.MARKED,
    )


@pytest.mark.parametrize(
    ("program", "weight"),
    [
        ("sm_apple_metal_probe_host", Weight.VOID),
        ("/Users/me/new/sm_apple_cpu_latency_O3", None),
        ("", Weight.MARKED),
    ],
)
def test_imports_of_different_programs_are_not_compared(
    program: str, weight: Weight | None
) -> None:
    names = ("/Users/me/old/sm_apple_cpu_latency_O3", program)
    run = sample_of(TIMES)
    before, after = (
        replace(run, result=Result(Provenance(recorder="import", targets=(Process(7, name),))))
        for name in names
    )
    found = differences([before], [after])
    assert [difference.weight for difference in found] == ([weight] if weight else [])


CONTENDED = Finding("gpu-contended", Severity.WARNING, "Another process ran.", "")
IDLE = Finding("bubbles", Severity.WARNING, "The GPU was idle.", "Submit ahead.", saving=1000)


def test_a_state_of_most_runs_of_one_side_is_a_condition() -> None:
    quiet, contended = sample_of(TIMES, "a"), sample_of(TIMES, "b", findings=[CONTENDED])
    words = "gpu-contended was found in b"
    assert conditions([quiet], [contended]) == (Condition("after", "gpu-contended", words),)
    assert conditions([contended], [quiet])[0].side == "before"
    assert conditions([contended], [contended]) == ()
    assert conditions([quiet], [contended, quiet]) == (), "a half is not most"
    assert len(conditions([quiet], [contended, contended, quiet])) == 1
    assert conditions([quiet], [sample_of(TIMES, findings=[IDLE])]) == (), "that is the work's"


def test_a_full_machine_spoils_times_both_ways(subtests: pytest.Subtests) -> None:
    slow, quick = noisy(1_300_000, seed=2), sample_of(noisy(10**6))
    for other_load, spoils in ((0.81, True), (0.79, False), (0.1, False), (None, False)):
        with subtests.test(others=other_load):
            times = range(0, sum(slow), sum(slow) // 20) if other_load is not None else [10**12]
            own_load = 1.0 if other_load is None or other_load > 0.2 else 1.75
            samples = pd.DataFrame(
                {"time": list(times), "cpu": own_load, "machine": own_load + (other_load or 1)}
            )
            machine = {"chip": "a chip", "cores": 2}
            tables = tables_of(slow) | {"process_samples": samples}
            full = sample_of(slow, "busy", tables=tables, machine=machine)
            found_conditions = conditions([quick], [full])
            assert (other_load, [condition.what for condition in found_conditions]) == (
                other_load,
                [CROWDED] * spoils,
            )
            begin = sum(slow) // 2 + 1  # the last samples are those of a machine at rest
            calm_samples = samples.assign(
                machine=samples["machine"].where(samples["time"] < begin, own_load)
            )
            calm = tables | {
                "process_samples": calm_samples,
                "phases": tables["phases"].assign(start=begin),
            }
            assert conditions([quick], [sample_of(slow, tables=calm, machine=machine)]) == ()
            if spoils:
                assert found_conditions[0].words == "other processes used 0.8 of 2 cores in busy"
                for first_sample, two in (
                    (quick, full),
                    (full, quick),
                    (sample_of(noisy(2_000_000)), full),
                ):
                    assert compare([first_sample], [two]).verdict is Verdict.UNCLEAR
                assert len(conditions([full], [full])) == 2


def make_sample_with(*findings: Finding) -> Any:
    return sample_of(TIMES, findings=findings, checks=[RuleCheck("bubbles", Status.FOUND)])


def test_new_and_gone_findings_were_looked_for_on_both_sides() -> None:
    passed = sample_of(TIMES, checks=[RuleCheck("bubbles", Status.PASSED)])
    blind = sample_of(TIMES, checks=[RuleCheck("bubbles", Status.ABSTAINED, "there is no table.")])
    idle = make_sample_with(IDLE)
    for sample_before, sample_after, course, reason in (
        (passed, idle, Became.APPEARED, ""),
        (idle, passed, Became.GONE, ""),
        (idle, blind, Became.UNKNOWN, "there is no table."),
        (sample_of(TIMES), idle, Became.UNKNOWN, "the rule was not among those that judged"),
    ):
        (change,) = finding_changes([passed, sample_before], [sample_after])
        assert (change.course, change.reason) == (course, reason)


def test_a_finding_grows_with_severity_and_cost() -> None:
    small = replace(IDLE, severity=Severity.NOTE, saving=1)
    for change, course in (
        ({}, Became.STAYED),
        ({"saving": None}, Became.STAYED),
        ({"saving": 1199}, Became.STAYED),
        ({"saving": 1200}, Became.GREW),
        ({"saving": 800}, Became.SHRANK),
        ({"severity": Severity.ERROR, "saving": 1}, Became.GREW),
        ({"severity": Severity.NOTE, "saving": 9999}, Became.SHRANK),
    ):
        finding_after = replace(IDLE, **change)
        (finding_change,) = finding_changes(
            [make_sample_with(IDLE, small)], [make_sample_with(finding_after, small)]
        )
        assert (finding_change.course, finding_change.before, finding_change.after) == (
            course,
            IDLE,
            finding_after,
        ), change


def test_new_ones_come_first_and_several_runs_are_counted() -> None:
    other_finding, worse = (
        replace(IDLE, rule="another"),
        replace(CONTENDED, severity=Severity.ERROR),
    )
    checks = [RuleCheck(rule, Status.PASSED) for rule in ("bubbles", "another")]
    samples_before = [
        make_sample_with(other_finding, worse),
        make_sample_with(other_finding),
        sample_of(TIMES, checks=checks),
    ]
    changes = finding_changes(samples_before, [make_sample_with(IDLE, other_finding, worse)])
    run_counts = [(change.rule, change.runs_before) for change in changes]
    assert run_counts == [("gpu-contended", 1), ("another", 2), ("bubbles", 0)]
    assert changes[2].course is Became.UNKNOWN, "two runs before say nothing of it"


def test_a_finding_that_becomes_an_effect_of_another_has_stayed() -> None:
    queue = replace(IDLE, rule="shallow-queue")
    folded = replace(IDLE, effects=("shallow-queue",))
    changes = finding_changes([make_sample_with(queue)], [make_sample_with(folded)])
    courses = {change.rule: change.course for change in changes}
    assert courses["shallow-queue"] is Became.STAYED


def test_an_effect_has_no_size_of_the_finding_that_it_belongs_to() -> None:
    queue = replace(IDLE, rule="shallow-queue")
    larger = replace(IDLE, effects=("shallow-queue",), severity=Severity.ERROR, saving=10**9)
    for before, after in ((queue, larger), (larger, queue)):
        changes = finding_changes([make_sample_with(before)], [make_sample_with(after)])
        courses = {change.rule: change.course for change in changes}
        assert courses["shallow-queue"] is Became.STAYED, before.rule


def run(*rows: tuple[str, int | None], theirs: int = 0) -> Any:
    rows = (*rows, *[("window", 99)] * theirs)
    frame = pd.DataFrame(
        {
            "start": range(len(rows)),
            "duration": pd.array([length for _, length in rows], dtype="Int64"),
            "label": [label for label, _ in rows],
            "target": [label != "window" for label, _ in rows],
        }
    )
    return sample_of(TIMES, tables={"gpu_intervals": frame})


def test_equal_labels_are_equal_work_of_the_target_whatever_process_and_number() -> None:
    sample_before = run(
        *(("paged      ( python3 (4711) )  0xf1", length) for length in (10, 20, 30))
    )
    rows = [("paged      ( python3 (815) )  0xa2", length) for length in (20, 40, 60, None)]
    (change,) = kernel_changes([sample_before], [run(*rows, theirs=1)])
    assert (change.label, change.ratio) == ("paged", 2)
    assert (change.before, change.after) == (Kernel(3, 60, 20, 29), Kernel(3, 120, 40, 58))
    runs = [run(("a", length)) for length in (10, 30, 20)]
    (tiny,) = kernel_changes([run(("a", 1))], [run(("a", 2))])
    assert tiny.ratio == 2
    (median,) = kernel_changes(runs, runs[:1])
    assert median.ratio == pytest.approx(0.5)


def test_the_largest_move_comes_first_and_new_and_gone_have_one_side() -> None:
    sample_before = run(("a", 10), ("b", 100), ("c", 50), ("old", 5))
    sample_after = run(("a", 70), ("b", 100), ("c", 20), ("new", 40))
    changes = kernel_changes([sample_before], [sample_after])
    assert [change.label for change in changes] == ["a", "new", "c", "old", "b"]
    assert (changes[1].before, changes[3].after, changes[3].ratio) == (None, None, None)
    tableless_sample = replace(sample_of(TIMES), tables=None)
    assert kernel_changes([tableless_sample], [tableless_sample]) == ()
    damaged = sample_of(TIMES, tables=Broken(tables_of(TIMES)))
    assert kernel_changes([damaged], [damaged]) == conditions([damaged], [damaged]) == ()
