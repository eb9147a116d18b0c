"""What the machine and its memory did beside the work."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics.machine import (
    allocations_per_step,
    gpu_downclocked_ratio,
    gpu_memory_slope,
    memory_slope,
    wire_time,
)

Make = Callable[..., pd.DataFrame]
SECOND = 1_000_000_000


@pytest.fixture
def work(intervals: Make) -> pd.DataFrame:
    return intervals([(0, 8 * SECOND)])


def spread(count: int, **columns: object) -> pd.DataFrame:
    """Make rows of a second each that belong to the target."""
    return pd.DataFrame(
        {
            "start": [at * SECOND for at in range(count)],
            "time": [at * SECOND for at in range(count)],
            "duration": pd.array([SECOND] * count, dtype="Int64"),
            "pid": pd.array([4711] * count, dtype="Int64"),
            "target": True,
            "induced": pd.array([False] * count, dtype="boolean"),
            **columns,
        }
    )


def test_the_share_below_the_best_state(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    states = spread(4, state=["Maximum", "Minimum", "Maximum", "Maximum"])
    assert gpu_downclocked_ratio.measure(states, work, targets, None) == 0.25


def test_a_cpu_has_no_states_of_a_gpu(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        gpu_downclocked_ratio.measure(spread(1), intervals([(0, 5)], clock="host"), targets, None)


def test_the_slope_of_memory_is_in_bytes_a_second(
    work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    sizes = spread(8, size=pd.array(range(0, 800, 100), dtype="Int64"))
    assert gpu_memory_slope.measure(sizes, work, targets, None) == pytest.approx(100)
    samples = sizes.rename(columns={"size": "memory"})
    assert memory_slope.measure(samples, work, targets, None) == pytest.approx(100)


def test_memory_that_goes_up_and_down_has_no_slope(
    work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    sizes = spread(16, size=pd.array([100, 900] * 8, dtype="Int64"))
    sizes["start"] //= 2
    assert gpu_memory_slope.measure(sizes, work, targets, None) == 0


def test_allocations_are_counted_by_step(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    made = spread(6, event="Allocation")
    steps = spread(4, phase="steady")
    assert allocations_per_step.measure(made, steps, work, targets, None) == 1.5
    assert allocations_per_step.measure(made.iloc[:0], steps, work, targets, None) == 0


def test_the_time_of_wiring_counts_overlaps_once(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    wired = spread(2, event="Wire Memory")
    twice = pd.concat([wired, wired, spread(5, event="Other")])
    assert wire_time.measure(twice, work, targets, None) == 2 * SECOND
