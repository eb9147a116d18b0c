"""What the GPU did for the target."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

Make = Callable[..., pd.DataFrame]


def value(name: str, *tables: pd.DataFrame | None) -> float:
    return METRICS[name].measure(*tables)


def test_busy_is_the_union_of_the_targets_intervals(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 10), (5, 10), (100, 20)], others=[(30, 50)])
    assert value("gpu_busy", frame, targets) == 35


def test_span_runs_from_the_first_start_to_the_last_end(
    intervals: Make, targets: pd.DataFrame
) -> None:
    frame = intervals([(5, 100), (20, 10)], others=[(0, 500)])
    assert value("gpu_span", frame, targets) == 100


def test_idle_ratio_is_the_rest_of_the_span(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 25), (75, 25)])
    assert value("gpu_idle_ratio", frame, targets) == 0.5


def test_only_the_targets_intervals_are_counted(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 1), (2, 1)], others=[(4, 1), (6, 1), (8, 1)])
    assert value("gpu_interval_count", frame, targets) == 2


def test_start_latency_is_interpolated_between_ranks(
    intervals: Make, targets: pd.DataFrame
) -> None:
    frame = intervals([(0, 1), (2, 1), (4, 1)], latencies=[1_000, 3_000, None])
    assert value("start_latency_p50", frame, targets) == 2_000
    assert value("start_latency_p99", frame, targets) == pytest.approx(2_980)


def test_start_latency_is_not_available_where_no_row_has_one(
    intervals: Make, targets: pd.DataFrame
) -> None:
    frame = intervals([(0, 1)], latencies=[None])
    with pytest.raises(Unavailable, match="no interval of the target has a start latency"):
        value("start_latency_p50", frame, targets)


def test_encoders_of_others_are_not_counted(targets: pd.DataFrame) -> None:
    encoders = pd.DataFrame({"target": [True, False, True]})
    assert value("encoder_count", encoders, targets) == 2


def test_intervals_without_length_have_no_idle_ratio(
    intervals: Make, targets: pd.DataFrame
) -> None:
    with pytest.raises(Unavailable, match="no length"):
        value("gpu_idle_ratio", intervals([(7, 0)]), targets)


GPU_METRICS = ("gpu_busy", "gpu_span", "gpu_idle_ratio", "gpu_interval_count", "start_latency_p50")


@pytest.mark.parametrize("name", GPU_METRICS)
def test_an_empty_table_is_not_a_zero(name: str, intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="no rows, of any process"):
        value(name, intervals([]), targets)


@pytest.mark.parametrize("name", GPU_METRICS)
def test_others_rows_are_not_the_targets(name: str, intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match=r"none of the 2 rows belongs to python3 \(4711\)"):
        value(name, intervals([], others=[(0, 1), (2, 1)]), targets)


@pytest.mark.parametrize("name", GPU_METRICS)
def test_an_unknown_target_has_no_numbers(name: str, intervals: Make, nobody: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="which process is the target is not known"):
        value(name, intervals([(0, 1)]), nobody)


@pytest.mark.parametrize("name", GPU_METRICS)
def test_work_of_a_cpu_is_no_gpu_time(name: str, intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        value(name, intervals([(0, 1)], clock="host"), targets)
