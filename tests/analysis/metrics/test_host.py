"""What the CPU did, by the host's clock."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

Make = Callable[..., pd.DataFrame]

SAMPLES = pd.DataFrame(
    {
        "time": [0, 100, 150, 190, 400],
        "cpu": pd.array([9.0, 1.0, 2.0, 1.5, 9.0], dtype="Float64"),
        "memory": pd.array([10, 50, None, 40, 20], dtype="Int64"),
    }
)


def test_host_busy_is_the_union_of_work_in_flight(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 10), (5, 10)], clock="host")
    assert METRICS["host_busy"].measure(frame, targets) == 15


def test_host_idle_ratio_is_of_the_steady_phase(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    frame = intervals([(0, 100), (110, 50), (170, 30)], clock="host")
    idle = METRICS["host_idle_ratio"].measure(frame, targets, phases(100, 100), None)
    assert idle == pytest.approx(0.2)


def test_gpu_times_are_not_shown_as_the_hosts(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="GPU times"):
        METRICS["host_busy"].measure(intervals([(0, 10)]), targets)


def test_cpu_is_the_median_of_steady_samples(phases: Make) -> None:
    assert METRICS["host_cpu"].measure(SAMPLES, phases(100, 100)) == 1.5


def test_cpu_without_marks_is_of_all_samples() -> None:
    assert METRICS["host_cpu"].measure(SAMPLES, None) == 2.0


def test_cpu_without_a_sample_in_the_steady_phase_is_not_available(phases: Make) -> None:
    with pytest.raises(Unavailable, match="no sample"):
        METRICS["host_cpu"].measure(SAMPLES, phases(500, 100))


def test_memory_peak_is_the_largest_sample() -> None:
    assert METRICS["memory_peak"].measure(SAMPLES) == 50


def test_memory_peak_without_samples_is_not_available() -> None:
    with pytest.raises(Unavailable, match="no sample of the target's memory"):
        METRICS["memory_peak"].measure(SAMPLES.iloc[2:3])


def test_reference_work_is_neither_idle_nor_busy(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    frame = intervals([(100, 40), (150, 40)], clock="host")
    annotations = pd.DataFrame(
        {"start": [140, 195], "duration": [10, 20], "name": ["reference", "reference"]}
    )
    asked = (frame, targets, phases(100, 100))
    assert METRICS["host_idle_ratio"].measure(*asked, None) == pytest.approx(0.2)
    assert METRICS["host_idle_ratio"].measure(*asked, annotations) == pytest.approx(1 - 80 / 85)
    assert METRICS["reference_share"].measure(*asked, annotations) == pytest.approx(0.15)
    with pytest.raises(Unavailable, match="did no reference work"):
        METRICS["reference_share"].measure(*asked, None)
