"""Runs of programs without steps: which numbers decide, and how sure repetitions are."""

import math
from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base import Provenance, Verdict
from tracekit.comparison.compare import compare
from tracekit.comparison.differences import Weight, differences
from tracekit.comparison.samples import Sample
from tracekit.comparison.spread import Limits, Repetition, SideValues, interval
from tracekit.comparison.verdicts import Change

QUIET = Limits(between=0.0)


def rate(name: str, value: float, **more: Any) -> Measurement:
    return Measurement(name, value, "tokens/s", Better.HIGHER, **more)


def wall(seconds: float) -> Measurement:
    return Measurement("wall_time", seconds * 1e9, "ns", Better.LOWER)


def run(*results: Measurement, program: str = "./llama-bench", metrics: Any = ()) -> Sample:
    provenance = Provenance(command=(program,), recorder="host")
    return Sample(program, Result(provenance, metrics=metrics, results=results))


def deciding(
    samples_before: list[Sample], samples_after: list[Sample], limits: Limits = QUIET
) -> list[Change]:
    return [
        change
        for change in compare(samples_before, samples_after, limits).changes
        if change.deciding
    ]


STEP = Measurement("step_p50", 5e6, "ns", Better.LOWER)
IDLE = Measurement("gpu_idle_ratio", 0.5, "ratio", Better.LOWER)
TTFT = Measurement("median_ttft", 5e6, "ns", Better.LOWER)
FRAMES = Measurement("quality", 31.0, "dB", Better.HIGHER)
PEAK = Measurement("peak", 1e9, "bytes", Better.LOWER)
TESTS = Measurement("tg128_tokens_per_second_stddev", 0.4, "tokens/s", Better.NEITHER)


@pytest.mark.parametrize(
    ("results", "metrics", "names"),
    [
        ([rate("tg128", 54.1), wall(3)], [STEP], ["step_p50"]),
        ([rate("tg128", 54.1), wall(3)], [IDLE], ["tg128"]),
        ([rate("pp512", 700.0), rate("tg128", 54.1), TESTS], [], ["pp512", "tg128"]),
        ([TTFT, rate("output", 54.1)], [], ["output"]),
        ([TTFT, FRAMES], [], ["median_ttft"]),
        ([FRAMES, PEAK], [], ["quality"]),
        ([PEAK, wall(3)], [], ["wall_time"]),
        ([wall(3)], [IDLE], ["gpu_idle_ratio"]),
        ([PEAK], [], []),
    ],
    ids=["steps", "printed", "rates", "rate and time", "time", "any", "wall", "device", "none"],
)  # fmt: skip
def test_printed_measurements_decide_without_steps(
    results: list[Measurement], metrics: list[Measurement], names: list[str]
) -> None:
    sample = run(*results, metrics=tuple(metrics))
    assert [change.metric for change in deciding([sample], [sample])] == names


def test_wall_time_goes_before_the_device_once_it_was_seen_several_times() -> None:
    samples_before = [run(wall(seconds), metrics=(IDLE,)) for seconds in (3.0, 3.01, 3.02)]
    samples_after = [run(wall(seconds), metrics=(IDLE,)) for seconds in (2.0, 2.01, 2.02)]
    (change,) = deciding(samples_before, samples_after)
    assert (change.metric, change.verdict) == ("wall_time", Verdict.BETTER)
    assert change.change == pytest.approx(2.01 / 3.01 - 1)


def half(repetition_before: Repetition, repetition_after: Repetition, spread: float = 0.0) -> float:
    sides = (
        SideValues((value,), repetitions=(repetition,))
        for value, repetition in ((0, repetition_before), (1, repetition_after))
    )
    change_interval = interval(*sides, run_deviation=spread)
    assert change_interval is not None
    return change_interval.upper_bound - change_interval.middle


def test_few_repetitions_are_less_certain_and_unseen_spread_is_added() -> None:
    three, two = Repetition(0.0001, 2), Repetition(0.0001, 1)
    assert half(three, three) == pytest.approx(2.776 * math.sqrt(0.0002)), "4 degrees of freedom"
    assert half(two, two) == pytest.approx(4.303 * math.sqrt(0.0002)), "2 degrees of freedom"
    # 0.0014 squared over twice 0.0001 squared by 2: 196 degrees, as many as one likes.
    assert half(three, three, 0.02449489742783178) == pytest.approx(1.96 * math.sqrt(0.0014))
    still_repetition = Repetition(0.0, 2)
    assert half(still_repetition, still_repetition, 0.01) == pytest.approx(1.96 * math.sqrt(0.0002))


@pytest.mark.parametrize(
    ("old", "new", "verdict", "low"),
    [
        ({"samples": (53.7, 54.1, 54.5)}, {"samples": (59.7, 60.1, 60.5)}, Verdict.BETTER, 0.080),
        ({"deviation": 0.4}, {"deviation": 0.4}, Verdict.BETTER, 0.063),
        ({"deviation": 6.0}, {"deviation": 6.0}, Verdict.UNCLEAR, -0.423),
        ({"samples": (53.7, 54.1, 54.5)}, {}, Verdict.UNCLEAR, None),
        ({}, {}, Verdict.UNCLEAR, None),
        ({"samples": (0.0, 54.1, 108.2)}, {"samples": (59.7, 60.1, 60.5)}, Verdict.UNCLEAR, None),
    ],
    ids=["samples", "deviations", "wide", "one side", "neither side", "zero"],
)  # fmt: skip
def test_two_runs_are_judged_by_the_repetitions_that_both_printed(
    old: dict[str, Any], new: dict[str, Any], verdict: Verdict, low: float | None
) -> None:
    (change,) = deciding([run(rate("tg128", 54.1, **old))], [run(rate("tg128", 60.1, **new))])
    assert change.change == pytest.approx(60.1 / 54.1 - 1)
    assert change.verdict is verdict
    assert change.low == (None if low is None else pytest.approx(low, abs=0.005))


@pytest.mark.parametrize(
    ("name", "weight"),
    [("tg128", Weight.MARKED), ("pp512", Weight.VOID)],
)
def test_programs_that_measure_the_same_are_two_builds_of_one(name: str, weight: Weight) -> None:
    old = run(rate("tg128", 54.1), wall(3), program="./main-old")
    new = run(rate(name, 60.1), program="./main-new")
    (difference,) = differences([old], [new])
    assert (difference.what, difference.weight) == ("workload", weight)
    silent = [run(wall(3), program=program) for program in ("./main-old", "./main-new")]
    assert differences([silent[0]], [silent[1]])[0].weight is Weight.VOID
