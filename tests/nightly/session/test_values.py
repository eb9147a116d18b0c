import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.errors import ToolError
from tracekit.base.recording import Overhead, Provenance
from tracekit.machine.state import JUDGED, State
from tracekit.nightly.history.night import Pair
from tracekit.nightly.session.measuring import (
    MORE_IS_WORSE,
    overhead,
    require_steps,
    traced_values,
    values_of,
    worst,
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


@pytest.mark.parametrize("turn", [StepTimes(exhausted=True), StepTimes(idle=4, length=9)])
def test_a_turn_without_steps_is_an_error(turn: StepTimes) -> None:
    with pytest.raises(ToolError) as caught:
        require_steps("the candidate of x", turn)
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


def test_without_enough_pairs_the_overhead_says_so() -> None:
    for traced, untraced, why in (
        ([pair(32)], [pair(100)], "one untraced pair does not show how much pairs differ"),
        ([], [pair(1)], "no traced pair"),
        ([pair(1)], [pair(1, contaminated=("x",))], "no untraced pair"),
        ([Pair(1, 1, "ab", traced=True)], [pair(1)], "no traced pair"),
    ):
        found = overhead(traced, untraced)
        assert found.ratio is None
        assert found.reason.startswith(why)


READINGS = st.dictionaries(st.sampled_from(["calibration", "gpu_clock"]), st.floats(0, 1e9))


@given(st.lists(READINGS, min_size=1, max_size=4))
def test_the_worst_of_each_reading_counts(told: list[dict[str, float]]) -> None:
    found = worst([State(str(number), one) for number, one in enumerate(told)])
    assert found is not None
    assert found.at == str(len(told) - 1)
    for name, worse in (("calibration", max), ("gpu_clock", min)):
        seen = [one[name] for one in told if name in one]
        assert found.readings.get(name) == (worse(seen) if seen else None)


def test_what_nobody_could_read_keeps_its_reason() -> None:
    unread = State("01", {}, {"battery": "no battery"})
    assert worst([unread]) == unread
    assert worst([unread, State("02", {"battery": 0.5})]) == State("02", {"battery": 0.5})
    assert worst([]) is None


def test_every_judged_reading_has_a_worse_side() -> None:
    assert set(JUDGED) <= MORE_IS_WORSE | {"gpu_clock", "memory_free", "mains", "battery"}
