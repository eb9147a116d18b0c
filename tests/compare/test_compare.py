"""What became of the metrics of runs: worse, better, the same or unclear, and at which pace."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.errors import UsageError
from tracekit.compare.compare import Comparison, compare
from tracekit.compare.page import how_sure
from tracekit.compare.page import tables as shown
from tracekit.compare.samples import Order, order_of
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, Verdict

Make = Callable[..., Any]
MS = 1_000_000


def change_of(compared: Comparison, name: str = "step_p50") -> Change:
    return next(one for one in compared.changes if one.metric == name)


def ends(change: Change) -> tuple[float, float]:
    assert change.low is not None
    assert change.high is not None
    return change.low, change.high


def width(compared: Comparison) -> float:
    low, high = ends(change_of(compared))
    return math.log1p(high) - math.log1p(low)


def having(run: Any, *metrics: Measurement) -> Any:
    return replace(run, result=replace(run.result, metrics=metrics))


def only(sample: Make, name: str, unit: str, *values: float | None, reason: str = "") -> list[Any]:
    """Make runs without tables that know one metric."""
    run = replace(sample([1000] * 40), tables=None)
    return [having(run, Measurement(name, one, unit, Better.LOWER, reason)) for one in values]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (1.0, 1.1, Verdict.WORSE),
        (1.1, 1.0, Verdict.BETTER),
        (1.0, 1.0, Verdict.SAME),
        (1.0, 1.02, Verdict.SAME),
        (1.0, 1.065, Verdict.UNCLEAR),
    ],
)
def test_a_change_counts_that_is_large_and_sure(
    sample: Make, make: Any, before: float, after: float, verdict: Verdict
) -> None:
    sides = [sample(make.noisy(before * MS))], [sample(make.noisy(after * MS, seed=2))]
    compared = compare(*sides)
    step = change_of(compared)
    assert compared.verdict is verdict
    assert step.change == pytest.approx(after / before - 1, abs=0.01)
    assert ends(step)[0] < after / before - 1 < ends(step)[1]
    assert {one.metric for one in compared.changes} == {"tokens_per_second", "step_p50"}
    if after == 1.02:
        assert compare(*sides, Limits(threshold=0.01, between=0.0)).verdict is Verdict.WORSE


def test_a_run_that_drifts_is_unclear(sample: Make, make: Any) -> None:
    drifting = [round(one * (1 + place / 400)) for place, one in enumerate(make.noisy(MS))]
    compared = compare([sample(make.noisy(MS))], [sample(drifting)])
    assert compared.verdict is Verdict.UNCLEAR
    assert "the interval is too wide" in compared.reason


def test_without_its_tables_one_run_is_unclear_and_several_are_not(sample: Make, make: Any) -> None:
    gone = replace(sample(make.noisy(1.5 * MS)), tables=None, absence="its exports are gone.")
    step = change_of(compare([sample(make.noisy(MS))], [gone]))
    assert (step.verdict, step.low) == (Verdict.UNCLEAR, None)
    assert step.reason == "its spread is not known: its exports are gone"
    assert step.change == pytest.approx(0.5, abs=0.01), "what it came to is told all the same"
    before, after, scattered = (
        only(sample, "step_p50", "ns", *values)
        for values in ((1000, 1010, 1005), (1100, 1108, 1102), (1000, 1200, 1100))
    )
    assert compare(before, after).verdict is Verdict.WORSE
    assert compare(scattered, after).verdict is Verdict.UNCLEAR


def test_the_machines_pace_is_taken_out(make: Any) -> None:
    slower_machine = compare([make.paced(MS, 50_000, 1)], [make.paced(1.06 * MS, 53_000, 2)])
    step = change_of(slower_machine)
    assert (slower_machine.verdict, step.corrected) == (Verdict.SAME, True)
    assert step.after == pytest.approx(1.06 * MS, rel=0.01), "values stay as they were measured"
    _, columns, rows = next(iter(shown(slower_machine)))
    assert columns[3:6] == ("measured", "at equal pace", "95 % interval")
    assert next(row for row in rows if row[0] == "step_p50 *")[3].startswith("+6.")
    assert "took 20.0 % longer after" in how_sure(replace(slower_machine, pace=0.2))
    assert "took 20.0 % less after" in how_sure(replace(slower_machine, pace=-0.2))
    slower_work = compare([make.paced(MS, 50_000, 1)], [make.paced(1.1 * MS, 50_000, 2)])
    assert slower_work.verdict is Verdict.WORSE
    assert change_of(slower_work, "tokens_per_second").corrected


def test_a_reference_makes_clearer_and_the_more_is_corrected_the_less_is_sure(
    sample: Make, make: Any
) -> None:
    widths = [
        width(compare([make.paced(MS, 50_000, 1)], [make.paced(ratio * MS, ratio * 50_000, 2)]))
        for ratio in (1.0, 1.2, 1.6)
    ]
    assert widths == sorted(widths)
    assert widths[2] > 2 * widths[0]
    plain = compare([sample(make.noisy(MS))], [sample(make.noisy(MS, seed=2))])
    assert widths[0] < 0.75 * width(plain)
    large = compare([make.paced(MS, 50_000, 1)], [make.paced(1.76 * MS, 80_000, 2)])
    assert large.verdict is Verdict.UNCLEAR


def test_what_only_the_correction_makes_is_no_change(make: Any) -> None:
    sides = [make.paced(MS, 50_000, 1)], [make.paced(MS, 44_000, 1)]
    step = change_of(compare(*sides, Limits(paced=0.0, doubt=0.0)))
    assert ends(step)[0] > 0.1
    assert step.verdict is Verdict.UNCLEAR
    assert step.reason == "only taking the machine's pace out makes it seem so"


@pytest.mark.parametrize(
    ("other", "corrected"),
    [
        ({"source": "tracekit (Python)"}, False),
        ({"machine": {"mlx": "0.33"}}, False),
        ({"machine": {"chip": "Apple M4"}}, False),
        ({"machine": {"cores": 10}}, False),
        ({"machine": {"os": "macOS 26.1"}}, True),
    ],
)
def test_unlike_references_correct_nothing(
    make: Any, other: dict[str, Any], *, corrected: bool
) -> None:
    """Else a faster MLX would be corrected away, for the reference is faster, too."""
    if "machine" in other:
        other = {"machine": make.machine | other["machine"]}
    compared = compare([make.paced(1.3 * MS, 65_000, 1)], [make.paced(MS, 50_000, 2, **other)])
    assert any(one.corrected for one in compared.changes) is corrected
    assert (compared.verdict is Verdict.BETTER) is not corrected


def test_a_reference_of_one_side_or_that_took_no_time_corrects_nothing(
    sample: Make, make: Any
) -> None:
    whole = make.paced(MS, 50_000, 2)
    gauges = whole.tables["gauges"].assign(value=0.0)
    broken = replace(whole, tables=whole.tables | {"gauges": gauges})
    for before in (sample(make.noisy(MS)), broken):
        assert not any(one.corrected for one in compare([before], [whole]).changes)


def test_shares_change_by_points_and_counts_by_whole_ones(sample: Make) -> None:
    def idle(*shares: float) -> list[Any]:
        return only(sample, "gpu_idle_ratio", "ratio", *shares)

    change = change_of(compare(idle(0.10, 0.11), idle(0.30, 0.31)), "gpu_idle_ratio")
    assert (change.relative, change.verdict) == (False, Verdict.WORSE)
    assert change.change == pytest.approx(0.2)
    alike = compare(idle(0.0, 0.01), idle(0.01, 0.0))
    assert alike.verdict is Verdict.SAME, "a share may be 0"

    def rejected(*counts: int) -> list[Any]:
        return only(sample, "requests_rejected", "count", *counts)

    limits = Limits(metrics=("requests_rejected",))
    assert compare(rejected(0, 0), rejected(9, 9), limits).verdict is Verdict.WORSE
    assert compare(rejected(0), rejected(0), limits).verdict is Verdict.SAME
    assert compare(rejected(0), rejected(1), limits).verdict is Verdict.UNCLEAR


def test_what_has_no_ratio_or_no_value_says_why(sample: Make) -> None:
    grown = [only(sample, "memory_growth", "bytes", size) for size in (0, 4096)]
    change = change_of(compare(*grown), "memory_growth")
    assert (change.change, change.relative, change.verdict) == (4096, False, None)
    assert change.reason == "a ratio takes values above 0"
    grown = [only(sample, "memory_growth", "bytes", size) for size in (0.5, 1.0)]
    change = change_of(compare(*grown), "memory_growth")
    assert (change.relative, change.change) == (True, 1.0)
    assert (change.values_before, change.values_after) == ((0.5,), (1.0,))
    absent = only(sample, "gpu_idle_ratio", "ratio", None, reason="no GPU")
    change = change_of(
        compare(absent, only(sample, "gpu_idle_ratio", "ratio", 0.1)), "gpu_idle_ratio"
    )
    assert (change.before, change.after, change.verdict) == (None, 0.1, None)
    assert change.reason == "before: no GPU"


def test_who_names_metrics_decides_by_them_and_a_side_needs_a_run(sample: Make) -> None:
    sides = [sample([MS] * 40)], [sample([2 * MS] * 40)]
    compared = compare(*sides, Limits(metrics=("step_p50",)))
    assert [one.metric for one in compared.changes if one.deciding] == ["step_p50"]
    with pytest.raises(UsageError, match="'step_p5'") as error:
        compare(*sides, Limits(metrics=("step_p5",)))
    assert "step_p50" in error.value.hint
    with pytest.raises(UsageError, match="at least one run"):
        compare([], sides[1])
    silent = having(sides[0][0])
    unclear = compare([silent], [silent])
    assert (unclear.verdict, unclear.reason) == (Verdict.UNCLEAR, "No run has a metric of speed.")


def test_what_one_side_alone_measured_is_listed_and_what_both_have_is_named(sample: Make) -> None:
    run, later = (sample([MS] * 40, f"run {one}", started=at(one)) for one in (1, 2))
    depth = Measurement("depth", 1.0, "", Better.NEITHER)
    told = replace(run, result=replace(run.result, results=(depth,)))
    for sides in (([told], [later]), ([later], [told])):
        assert change_of(compare(*sides), "depth").verdict is None
    assert compare([run], [later]).shared == ()
    assert compare([run, later], [later]).shared == ("run 2",)
    unknown = sample([MS] * 40)
    assert compare([unknown], [unknown]).shared == ()


def test_worse_and_better_together_are_worse(sample: Make) -> None:
    def run(first: int, other: int) -> Any:
        bare = replace(sample([1000] * 40), tables=None)
        names = (("ttft_p50", first), ("tpot_p50", other))
        return having(bare, *(Measurement(name, one, "ns", Better.LOWER) for name, one in names))

    compared = compare([run(100, 100), run(101, 101)], [run(200, 50), run(201, 51)])
    assert compared.verdict is Verdict.WORSE
    assert compared.reason == "ttft_p50 is worse, though tpot_p50 is better."


@pytest.mark.parametrize(
    ("hot", "verdict"),
    [("after", Verdict.UNCLEAR), ("both", Verdict.WORSE), ("before", Verdict.WORSE)],
)
def test_heat_on_just_the_slower_side_makes_worse_unclear(
    sample: Make, make: Any, hot: str, verdict: Verdict
) -> None:
    heat = [Finding("thermal-pressure", Severity.WARNING, "The machine was hot.", "")]
    before = sample(make.noisy(MS), findings=heat if hot != "after" else [])
    after = sample(make.noisy(1.2 * MS, seed=2), "b", findings=heat if hot != "before" else [])
    compared = compare([before], [after])
    assert compared.verdict is verdict
    assert compared.reason.endswith("but thermal-pressure was found in b.") is (hot == "after")


def test_a_reason_that_metrics_share_is_given_once(sample: Make) -> None:
    def short(value: float) -> Any:
        names = ("step_p50", "step_p99", "tokens_per_second")
        return having(
            sample([MS] * 10), *(Measurement(name, value, "ns", Better.LOWER) for name in names)
        )

    compared = compare([short(MS)], [short(1.2 * MS)])
    _, _, rows = next(iter(shown(compared)))
    assert [row[-1] for row in rows] == ["unclear (1)"] * 3
    assert how_sure(compared).count("takes 20 steady steps") == 1


def at(minute: int) -> str:
    return f"2026-11-20T10:{minute:02d}:00+00:00"


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        ([1], [2], Order.ALTERNATING),
        ([1, 4, 5], [2, 3, 6], Order.ALTERNATING),
        ([1, 2, 3], [4, 5, 6], Order.APART),
        ([4, 5, 6], [1, 2], Order.APART),
        ([1, 3, 5], [2, 4], Order.MIXED),
        ([1, 2, 5, 6], [3, 4, 7, 8], Order.MIXED),
    ],
)
def test_runs_have_an_order(
    sample: Make, before: Sequence[int], after: Sequence[int], order: Order
) -> None:
    sides = [[sample([MS] * 40, started=at(one)) for one in own] for own in (before, after)]
    assert order_of(*sides) is order
    assert order_of(*sides[::-1]) is order
    for started in ("", "yesterday"):
        unknown = sample([MS] * 40, started=started)
        assert order_of(sides[0], [*sides[1], unknown]) is Order.UNKNOWN


def test_neighbours_in_time_are_paired_only_where_runs_alternate(sample: Make) -> None:
    """Six runs of each side on a machine that slows by 4 % a run; after is +5 %."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for place in range(12):
        side = (place + place // 2) % 2  # A B, B A, A B, …
        length = round(MS * 1.04**place * (1.05 if side else 1.0))
        sides[side].append(sample([length] * 40, f"run {place}", started=at(place)))
    everything = sorted(itertools.chain(*sides), key=lambda one: one.result.provenance.started)
    for side in sides:
        random.Random(3).shuffle(side)
    paired = compare(*sides)
    step = change_of(paired)
    assert (paired.verdict, step.paired) == (Verdict.WORSE, True)
    assert step.change == pytest.approx(0.05, abs=0.01)
    assert width(paired) < 0.1
    apart = compare(everything[:6], everything[6:])
    assert not change_of(apart).paired
    assert "drift would look like a change" in how_sure(apart)
