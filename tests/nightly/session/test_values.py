import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.errors import ToolError
from tracekit.base.recording import Overhead, Provenance
from tracekit.nightly.history.night import Pair
from tracekit.nightly.session.measuring import (
    overhead,
    require_steps,
    traced_values,
    values_of,
)
from tracekit.workload.interleaved.protocol import Finished, StepTimes
from tracekit.workload.workload import Measured

NOTHING = Finished()


@pytest.mark.parametrize(
    ("turn", "values"),
    [
        (
            StepTimes(times=(100, 300, 200), tokens=6, length=1_000_000_000),
            {"step_rate": 3.0, "step_p50": 200.0, "tokens_per_second": 6.0},
        ),
        # Waits for load count as time, and not as steps.
        (
            StepTimes(times=(100,), idle=9, length=500_000_000),
            {"step_rate": 2.0, "step_p50": 100.0},
        ),
        # Of several variants, which are compared, no step time is given.
        (StepTimes((1, 2), tokens=4, length=10**9, variants=("paged", "sdpa")), {"step_rate": 2.0}),
        (
            StepTimes((1, 3), length=10**9, variants=("paged",)),
            {"step_rate": 2.0, "step_p50": 2.0},
        ),
    ],
)
def test_a_turn_s_metrics_are_those_of_the_analysis(
    turn: StepTimes, values: dict[str, float]
) -> None:
    assert values_of([turn], NOTHING) == {name: (one,) for name, one in values.items()}


@pytest.mark.parametrize(("steps", "told"), [(99, False), (100, True)])
def test_a_99th_percentile_needs_a_hundred_steps(steps: int, told: bool) -> None:
    turn = StepTimes(times=tuple(range(1, steps + 1)), length=10**9)
    values = values_of([turn, turn], NOTHING)
    assert ("step_p99" in values) is told
    assert values.get("step_p99", (99.01, 99.01)) == pytest.approx((99.01, 99.01))


def test_each_turn_has_a_value_of_its_own_and_a_result_one() -> None:
    turns = [StepTimes(times=(one,), length=10**9) for one in (5, 7)]
    results = {
        "max_error": Measured(0.5, "ratio", "lower"),
        "hidden": Measured(None, reason="nobody looked"),
        "step_p50": Measured(3.0, "ns", "lower"),
    }
    values = values_of(turns, Finished(results))
    assert values["step_p50"] == (5.0, 7.0)
    assert values["max_error"] == (0.5,)
    assert "hidden" not in values


def test_the_numbers_of_a_trace_are_those_of_its_result() -> None:
    result = Result(
        Provenance(),
        metrics=(
            Measurement("step_p50", 200, "ns", Better.LOWER),
            Measurement("gpu_busy", None, "ratio", Better.NEITHER, "no GPU"),
        ),
        results=(Measurement("depth", 0.25, "ratio", Better.HIGHER),),
    )
    assert traced_values(result) == {"step_p50": (200.0,), "depth": (0.25,)}


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        (StepTimes(exhausted=True), "The candidate of x had nothing left to do in its turn."),
        (StepTimes(idle=4, length=9), "The candidate of x made no step that did anything"),
    ],
)
def test_a_turn_without_steps_says_why(turn: StepTimes, told: str) -> None:
    with pytest.raises(ToolError) as caught:
        require_steps("the candidate of x", turn)
    assert caught.value.message.startswith(told)
    assert "together = false" in caught.value.hint


def pair(*step_times: float, contaminated: tuple[str, ...] = ()) -> Pair:
    return Pair(1, 1, "abba", candidate={"step_p50": step_times}, contaminated=contaminated)


def test_the_overhead_is_that_of_medians_in_ns() -> None:
    untraced = [pair(90, 110), pair(100), pair(101), pair(99)]
    found = overhead([pair(110)], untraced)
    assert found.ratio == pytest.approx(0.1)
    assert (found.recorded, found.unrecorded) == (110, 100)
    # Student's t of 3 degrees of freedom, times the deviation of one run from the mean of four
    deviation = math.sqrt((2 * math.log(1.01) ** 2) / 3)
    half = 3.182 * deviation * math.sqrt(1 + 1 / 4)
    assert found.spread == pytest.approx(1.1 * half, rel=0.02)


def test_pairs_that_do_not_count_say_nothing_of_the_overhead() -> None:
    untraced = [pair(100), pair(100), pair(500, contaminated=("busy",))]
    assert overhead([pair(110)], untraced) == Overhead(pytest.approx(0.1), 0.0, 110, 100)


def test_one_untraced_pair_is_too_few_to_tell_a_cost() -> None:
    assert overhead([pair(32)], [pair(100)]) == Overhead(
        reason="one untraced pair does not show how much pairs differ"
    )


def test_without_step_times_the_overhead_says_so() -> None:
    assert overhead([], [pair(1)]).reason.startswith("no traced pair")
    assert overhead([pair(1)], [pair(1, contaminated=("x",))]).reason.startswith("no untraced pair")
    assert overhead([Pair(1, 1, "ab", traced=True)], [pair(1)]).ratio is None


@given(
    st.lists(st.floats(1e3, 1e9), min_size=2, max_size=8),
    st.floats(0.5, 2),
)
def test_scaling_every_untraced_time_is_the_overhead(times: list[float], factor: float) -> None:
    untraced = [pair(one) for one in times]
    traced = [pair(one * factor) for one in times]
    found = overhead(traced, untraced)
    assert found.ratio == pytest.approx(factor - 1)
    assert found.spread is not None
    assert found.spread >= 0
