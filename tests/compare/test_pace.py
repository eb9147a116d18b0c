"""Comparisons in which reference work tells the machine's pace."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest

from tracekit.compare.compare import Comparison, compare
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, Verdict

Make = Callable[..., Any]
MS = 1_000_000
MACHINE = {"chip": "Apple M1", "cores": 8, "os": "macOS 26.0", "mlx": "0.32"}


@pytest.fixture
def paced(sample: Make, noisy: Make, tables: Make, reference: Make) -> Make:
    """Make a run of noisy steps around a length, with reference work of a length in ns."""

    def make(
        middle: float, pace: float, seed: int, source: str = "tracekit (MLX)", **provenance: Any
    ) -> Any:
        times = noisy(middle, seed=seed)
        gauges = reference(times, noisy(pace, seed=seed + 100)).assign(source=source)
        return sample(times, tables=tables(times) | {"gauges": gauges}, **provenance)

    return make


def step(compared: Comparison) -> Change:
    return next(one for one in compared.changes if one.metric == "step_p50")


def width(compared: Comparison) -> float:
    one = step(compared)
    assert one.low is not None
    assert one.high is not None
    return math.log1p(one.high) - math.log1p(one.low)


@pytest.mark.parametrize("seed", range(5))
def test_a_slower_machine_is_no_slower_work(paced: Make, seed: int) -> None:
    compared = compare([paced(MS, 50_000, seed)], [paced(1.05 * MS, 52_500, seed + 10)])
    assert compared.verdict is Verdict.SAME


def test_what_others_make_unclear_a_reference_makes_clear(
    paced: Make, sample: Make, noisy: Make
) -> None:
    sides = [paced(MS, 50_000, 1)], [paced(1.065 * MS, 50_000, 2)]
    with_reference = compare(*sides)
    without = compare([sample(noisy(MS))], [sample(noisy(1.065 * MS, seed=2))])
    assert with_reference.verdict is Verdict.WORSE
    assert without.verdict is Verdict.UNCLEAR
    assert width(with_reference) < 0.75 * width(without)


def test_the_more_is_corrected_the_less_is_certain(paced: Make) -> None:
    widths = [
        width(compare([paced(MS, 50_000, 1)], [paced(ratio * MS, ratio * 50_000, 2)]))
        for ratio in (1.0, 1.2, 1.6)
    ]
    assert widths == sorted(widths)
    assert widths[2] > 2 * widths[0]


def test_a_correction_that_is_large_leaves_a_tenth_unclear(paced: Make) -> None:
    """The work may go by the memory, which a neighbour took, and the reference by the cores."""
    compared = compare([paced(MS, 50_000, 1)], [paced(1.1 * MS, 80_000, 2)])
    assert step(compared).change == pytest.approx(1.1 / 1.6 - 1, abs=0.02)
    other = compare([paced(MS, 50_000, 1)], [paced(1.1 * 1.6 * MS, 80_000, 2)])
    assert other.verdict is Verdict.UNCLEAR


def test_a_user_may_say_that_runs_are_closer(paced: Make) -> None:
    sides = [paced(MS, 50_000, 1)], [paced(1.04 * MS, 50_000, 2)]
    assert compare(*sides).verdict is Verdict.SAME
    assert compare(*sides, Limits(between=0.0)).verdict is Verdict.WORSE


@pytest.mark.parametrize(
    "other",
    [
        {"source": "tracekit (Python)"},
        {"source": "workload"},
        {"machine": MACHINE | {"mlx": "0.33"}},
        {"machine": MACHINE | {"chip": "Apple M4"}},
        {"machine": MACHINE | {"cores": 10}},
    ],
    ids=["another tool", "the workload's own", "another MLX", "another chip", "more cores"],
)
def test_unlike_references_correct_nothing(paced: Make, other: dict[str, Any]) -> None:
    """Else a faster MLX would be corrected away, for the reference is faster, too."""
    compared = compare([paced(1.3 * MS, 65_000, 1)], [paced(MS, 50_000, 2, **other)])
    assert not any(one.corrected for one in compared.changes)
    assert compared.verdict is Verdict.BETTER


def test_another_system_is_no_reason(paced: Make) -> None:
    other = {"machine": MACHINE | {"os": "macOS 26.1"}}
    compared = compare([paced(MS, 50_000, 1)], [paced(MS, 50_000, 2, **other)])
    assert step(compared).corrected


def test_work_that_took_no_time_tells_no_pace(paced: Make) -> None:
    """A workload may tell its gauge wrongly; the runs are compared all the same."""
    broken, whole = paced(MS, 50_000, 1), paced(MS, 50_000, 2)
    assert broken.tables is not None
    gauges = broken.tables["gauges"].assign(value=0.0)
    run = dataclasses.replace(broken, tables=broken.tables | {"gauges": gauges})
    assert not step(compare([run], [whole])).corrected
