"""What turns, traces and looks at the machine become in numbers."""

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

SECOND = 10**9


@pytest.mark.parametrize(
    ("turn", "values"),
    [
        (StepTimes((100, 300, 200), tokens=6, length=SECOND),
         {"step_rate": 3.0, "step_p50": 200.0, "tokens_per_second": 6.0}),
        # Waits for load count as time, and not as steps.
        (StepTimes((100,), idle=9, length=SECOND // 2), {"step_rate": 2.0, "step_p50": 100.0}),
        # Of several variants, which are compared, no step time is given.
        (StepTimes((1, 2), tokens=4, length=SECOND, variants=("paged", "sdpa")),
         {"step_rate": 2.0}),
        (StepTimes((1, 3), length=SECOND, variants=("paged",)),
         {"step_rate": 2.0, "step_p50": 2.0}),
    ],
)  # fmt: skip
def test_a_turn_s_metrics_are_those_of_the_analysis(
    turn: StepTimes, values: dict[str, float]
) -> None:
    assert values_of([turn], Finished()) == {name: (value,) for name, value in values.items()}


def test_each_turn_has_values_of_its_own_a_result_one_and_a_percentile_needs_100_steps() -> None:
    for steps, known in ((99, None), (100, (99.01, 99.01))):
        turn = StepTimes(times=tuple(range(1, steps + 1)), length=SECOND)
        found = values_of([turn, turn], Finished()).get("step_p99")
        assert found == (known and pytest.approx(known))
    turns = [StepTimes(times=(time,), length=SECOND) for time in (5, 7)]
    results = {
        "max_error": Measured(0.5, "ratio", "lower"),
        "hidden": Measured(None, reason="nobody looked"),
        "step_p50": Measured(3.0, "ns", "lower"),
    }
    values = values_of(turns, Finished(results))
    assert (values["step_p50"], values["max_error"]) == ((5.0, 7.0), (0.5,))
    assert "hidden" not in values
    result = Result(
        Provenance(),
        metrics=(
            Measurement("step_p50", 200, "ns", Better.LOWER),
            Measurement("gpu_busy", None, "ratio", Better.NEITHER, "no GPU"),
        ),
        results=(Measurement("depth", 0.25, "ratio", Better.HIGHER),),
    )
    assert traced_values(result) == {"step_p50": (200.0,), "depth": (0.25,)}
    for turn in (StepTimes(exhausted=True), StepTimes(idle=4, length=9)):
        with pytest.raises(ToolError, match="The candidate of x"):
            require_steps("the candidate of x", turn)


def pair(*step_times: float, contaminated: tuple[str, ...] = ()) -> Pair:
    return Pair(1, 1, "abba", candidate={"step_p50": step_times}, contaminated=contaminated)


def test_the_overhead_is_that_of_medians_in_ns_or_says_why_not() -> None:
    found = overhead([pair(110)], [pair(90, 110), pair(100), pair(101), pair(99)])
    assert (found.ratio, found.recorded, found.unrecorded) == (pytest.approx(0.1), 110, 100)
    # Student's t of 3 degrees of freedom, times the deviation of one run from the mean of four
    deviation = math.sqrt((2 * math.log(1.01) ** 2) / 3)
    half = 3.182 * deviation * math.sqrt(1 + 1 / 4)
    assert found.spread == pytest.approx(1.1 * half, rel=0.02)
    untraced = [pair(100), pair(100), pair(500, contaminated=("busy",))]
    assert overhead([pair(110)], untraced) == Overhead(pytest.approx(0.1), 0.0, 110, 100)
    for traced, other, why in (
        ([pair(32)], [pair(100)], "one untraced pair does not show how much pairs differ"),
        ([], [pair(1)], "no traced pair"),
        ([pair(1)], [pair(1, contaminated=("x",))], "no untraced pair"),
        ([Pair(1, 1, "ab", traced=True)], [pair(1)], "no traced pair"),
    ):
        found = overhead(traced, other)
        assert found.ratio is None
        assert found.reason.startswith(why)


READINGS = st.dictionaries(st.sampled_from(["calibration", "gpu_clock"]), st.floats(0, 1e9))


@given(st.lists(READINGS, min_size=1, max_size=4))
def test_the_worst_of_each_reading_counts(known: list[dict[str, float]]) -> None:
    found = worst([State(str(at), readings) for at, readings in enumerate(known)])
    assert found is not None
    assert found.at == str(len(known) - 1)
    for name, worse in (("calibration", max), ("gpu_clock", min)):
        seen = [readings[name] for readings in known if name in readings]
        assert found.readings.get(name) == (worse(seen) if seen else None)


def test_what_nobody_could_read_keeps_its_reason() -> None:
    unread = State("01", {}, {"battery": "no battery"})
    assert worst([unread]) == unread
    assert worst([unread, State("02", {"battery": 0.5})]) == State("02", {"battery": 0.5})
    assert worst([]) is None
    assert set(JUDGED) <= MORE_IS_WORSE | {"gpu_clock", "memory_free", "mains", "battery"}
