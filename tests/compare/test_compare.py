"""Runs against runs: what is worse, better, the same, or unclear, and why."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.errors import UsageError
from tracekit.compare.compare import Comparison, compare
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, Verdict

Make = Callable[..., Any]
MS = 1_000_000


def change_of(compared: Comparison, name: str) -> Change:
    return next(one for one in compared.changes if one.metric == name)


def test_a_tenth_more_time_is_worse(sample: Make, noisy: Make) -> None:
    compared = compare([sample(noisy(MS))], [sample(noisy(1.1 * MS, seed=2))])
    assert compared.verdict is Verdict.WORSE
    assert compared.reason == "tokens_per_second and step_p50 are worse."
    step = change_of(compared, "step_p50")
    assert step.change == pytest.approx(0.1, abs=0.01)
    assert step.low is not None
    assert step.high is not None
    assert 0 < step.low < 0.1 < step.high


def test_a_tenth_less_time_is_better(sample: Make, noisy: Make) -> None:
    compared = compare([sample(noisy(1.1 * MS))], [sample(noisy(MS, seed=2))])
    assert compared.verdict is Verdict.BETTER
    assert change_of(compared, "tokens_per_second").change == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("seed", range(10))
def test_equal_runs_are_the_same(sample: Make, noisy: Make, seed: int) -> None:
    before, after = (sample(noisy(MS, 0.02, seed=100 * seed + side)) for side in range(2))
    assert compare([before], [after]).verdict is Verdict.SAME


def test_a_small_change_matters_only_to_who_says_so(sample: Make, noisy: Make) -> None:
    sides = [sample(noisy(MS))], [sample(noisy(1.02 * MS, seed=2))]
    strict = Limits(threshold=0.01, between=0.0)
    assert compare(*sides, replace(strict, threshold=0.03)).verdict is Verdict.SAME
    assert compare(*sides, strict).verdict is Verdict.WORSE


def test_a_run_that_drifts_is_unclear(sample: Make, noisy: Make) -> None:
    drifting = [round(one * (1 + place / 400)) for place, one in enumerate(noisy(MS))]
    compared = compare([sample(noisy(MS))], [sample(drifting)])
    assert compared.verdict is Verdict.UNCLEAR
    assert "the interval is too wide" in compared.reason


def test_without_its_tables_a_run_is_unclear_and_says_so(sample: Make, noisy: Make) -> None:
    gone = replace(sample(noisy(1.5 * MS)), tables=None, absence="the run's exports are gone.")
    compared = compare([sample(noisy(MS))], [gone])
    step = change_of(compared, "step_p50")
    assert compared.verdict is Verdict.UNCLEAR
    assert step.reason == "its spread is not known: the run's exports are gone"
    assert step.change == pytest.approx(0.5, abs=0.01), "what it came to is told all the same"
    assert step.low is None


def test_several_runs_need_no_tables(sample: Make) -> None:
    def runs(*lengths: int) -> list[Any]:
        return [replace(sample([one] * 40), tables=None) for one in lengths]

    before, after = runs(1000, 1010, 1005), runs(1100, 1108, 1102)
    assert compare(before, after).verdict is Verdict.WORSE
    scattered = runs(1000, 1200, 1100)
    assert compare(scattered, after).verdict is Verdict.UNCLEAR


def test_the_machines_pace_is_taken_out(
    sample: Make, noisy: Make, tables: Make, reference: Make
) -> None:
    def paced(middle: float, pace: float, seed: int) -> Any:
        times = noisy(middle, seed=seed)
        own = tables(times) | {"gauges": reference(times, noisy(pace, 0.01, seed=seed + 1))}
        return sample(times, tables=own)

    slower_machine = compare([paced(MS, 50_000, 1)], [paced(1.06 * MS, 53_000, 2)])
    assert slower_machine.verdict is Verdict.SAME
    step = change_of(slower_machine, "step_p50")
    assert step.corrected
    assert step.after == pytest.approx(1.06 * MS, rel=0.01), "values stay as they were measured"
    slower_work = compare([paced(MS, 50_000, 1)], [paced(1.1 * MS, 50_000, 2)])
    assert slower_work.verdict is Verdict.WORSE
    assert change_of(slower_work, "tokens_per_second").corrected


def test_what_only_the_correction_makes_is_no_change(
    sample: Make, noisy: Make, tables: Make, reference: Make
) -> None:
    def paced(pace: float, seed: int) -> Any:
        times = noisy(MS, seed=seed)
        own = tables(times) | {"gauges": reference(times, noisy(pace, 0.001, seed=seed + 1))}
        return sample(times, tables=own)

    compared = compare([paced(50_000, 1)], [paced(44_000, 1)], Limits(paced=0.0, doubt=0.0))
    step = change_of(compared, "step_p50")
    assert step.low is not None
    assert step.low > 0.1
    assert step.verdict is Verdict.UNCLEAR
    assert step.reason == "only taking the machine's pace out makes it seem so"


def test_a_reference_on_one_side_corrects_nothing(
    sample: Make, noisy: Make, tables: Make, reference: Make
) -> None:
    times = noisy(MS)
    own = tables(times) | {"gauges": reference(times, [50_000] * len(times))}
    compared = compare([sample(times, tables=own)], [sample(noisy(MS, seed=2))])
    assert not any(one.corrected for one in compared.changes)


def having(run: Any, *metrics: Measurement) -> Any:
    return replace(run, result=replace(run.result, metrics=metrics))


def test_shares_change_by_points(sample: Make) -> None:
    def idle(share: float) -> Any:
        run = replace(sample([1000] * 40), tables=None)
        return having(run, Measurement("gpu_idle_ratio", share, "ratio", Better.LOWER))

    compared = compare([idle(0.10), idle(0.11)], [idle(0.30), idle(0.31)])
    change = change_of(compared, "gpu_idle_ratio")
    assert change.change == pytest.approx(0.2)
    assert not change.relative
    assert change.verdict is Verdict.WORSE
    assert compared.reason == "gpu_idle_ratio is worse."
    alike = compare([idle(0.0), idle(0.01)], [idle(0.01), idle(0.0)])
    assert change_of(alike, "gpu_idle_ratio").verdict is Verdict.SAME, "a share may be 0"


def test_counts_matter_by_one(sample: Make) -> None:
    def rejected(*counts: int) -> list[Any]:
        run = replace(sample([1000] * 40), tables=None)
        return [
            having(run, Measurement("requests_rejected", one, "count", Better.LOWER))
            for one in counts
        ]

    limits = Limits(metrics=("requests_rejected",))
    assert compare(rejected(0, 0), rejected(9, 9), limits).verdict is Verdict.WORSE
    assert compare(rejected(0), rejected(0), limits).verdict is Verdict.SAME
    assert compare(rejected(0), rejected(1), limits).verdict is Verdict.UNCLEAR


def test_a_ratio_of_nothing_is_not_made(sample: Make) -> None:
    def growing(size: int) -> Any:
        run = replace(sample([1000] * 40), tables=None)
        return having(run, Measurement("memory_growth", size, "bytes", Better.LOWER))

    change = change_of(compare([growing(0)], [growing(4096)]), "memory_growth")
    assert change.change == 4096
    assert not change.relative
    assert change.verdict is None
    assert change.reason == "a ratio takes values above 0"


def test_a_metric_that_one_side_lacks_says_why(sample: Make, noisy: Make) -> None:
    run = sample(noisy(MS))
    known = having(run, Measurement("gpu_idle_ratio", 0.1, "ratio", Better.LOWER))
    absent = having(run, Measurement("gpu_idle_ratio", None, "ratio", Better.LOWER, "no GPU"))
    change = change_of(compare([absent], [known]), "gpu_idle_ratio")
    assert change.before is None
    assert change.after == 0.1
    assert change.verdict is None
    assert change.reason == "before: no GPU"


def test_what_no_run_knows_is_left_out(sample: Make, noisy: Make) -> None:
    compared = compare([sample(noisy(MS))], [sample(noisy(MS))])
    assert {one.metric for one in compared.changes} == {"tokens_per_second", "step_p50"}


def test_who_names_metrics_decides_by_them(sample: Make, noisy: Make) -> None:
    sides = [sample(noisy(MS))], [sample(noisy(1.2 * MS))]
    compared = compare(*sides, Limits(metrics=("step_p50",)))
    assert [one.metric for one in compared.changes if one.deciding] == ["step_p50"]
    with pytest.raises(UsageError, match="'step_p5'") as error:
        compare(*sides, Limits(metrics=("step_p5",)))
    assert "step_p50" in error.value.hint


def test_a_side_needs_a_run(sample: Make) -> None:
    with pytest.raises(UsageError, match="at least one run"):
        compare([], [sample([1000] * 40)])


def test_runs_without_any_speed_are_unclear(sample: Make) -> None:
    run = having(sample([1000] * 40))
    compared = compare([run], [run])
    assert compared.verdict is Verdict.UNCLEAR
    assert compared.reason == "No run has a metric of speed."


def test_worse_and_better_together_are_worse(sample: Make) -> None:
    def run(first: int, other: int) -> Any:
        bare = replace(sample([1000] * 40), tables=None)
        names = (("ttft_p50", first), ("tpot_p50", other))
        return having(bare, *(Measurement(name, one, "ns", Better.LOWER) for name, one in names))

    compared = compare([run(100, 100), run(101, 101)], [run(200, 50), run(201, 51)])
    assert compared.verdict is Verdict.WORSE
    assert compared.reason == "ttft_p50 is worse, though tpot_p50 is better."


def test_a_hot_machine_makes_worse_unclear(sample: Make, noisy: Make) -> None:
    hot = Finding("thermal-pressure", Severity.WARNING, "The machine was hot.", "")
    slow, quick = noisy(1.2 * MS, seed=2), noisy(MS)
    blamed = compare([sample(quick)], [sample(slow, "tonight", findings=[hot])])
    assert blamed.verdict is Verdict.UNCLEAR
    assert blamed.reason.endswith("but thermal-pressure was found in tonight.")
    both = compare([sample(quick, findings=[hot])], [sample(slow, findings=[hot])])
    assert both.verdict is Verdict.WORSE, "it held for both sides alike"
    cooler = compare([sample(quick, findings=[hot])], [sample(slow)])
    assert cooler.verdict is Verdict.WORSE, "heat on the quicker side explains nothing"
