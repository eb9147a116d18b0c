"""`low-occupancy`: by counter name, and only where counters can be trusted."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["low-occupancy"].judge
MS = 1_000_000


def counters(rows: list[tuple[int, int, str, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["start", "duration", "counter", "value"])
    return frame.astype({"duration": "Int64", "counter": "string", "value": "Float64"})


@pytest.fixture
def work(intervals: Make) -> pd.DataFrame:
    return intervals([(0, 100 * MS)])


@pytest.mark.parametrize("name", ["Kernel Occupancy", "Compute Occupancy"])
def test_low_samples_are_found_whatever_the_chip_calls_them(
    name: str, work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    samples = counters([(0, 10, name, 10.0), (10, 30, name, 20.0), (0, 10, "ALU Limiter", 90.0)])
    [finding] = judge(samples, work, targets, None)
    assert finding.message.startswith(f"{name} was 17.5")
    assert "2 samples" in finding.message


def test_samples_without_duration_weigh_the_same(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    samples = counters([(0, 0, "Kernel Occupancy", 10.0), (5, 0, "Kernel Occupancy", 20.0)])
    [finding] = judge(samples, work, targets, None)
    assert "15.0" in finding.message


def test_enough_occupancy_passes(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    assert not list(judge(counters([(0, 10, "Kernel Occupancy", 60.0)]), work, targets, None))


def test_samples_outside_of_the_steady_window_do_not_count(
    work: pd.DataFrame, targets: pd.DataFrame, phases: Make
) -> None:
    samples = counters([(0, 10, "Kernel Occupancy", 1.0), (60 * MS, 1, "Kernel Occupancy", 60.0)])
    assert not list(judge(samples, work, targets, phases(50 * MS, 50 * MS)))


def test_values_that_are_no_numbers_are_left_out(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    samples = counters([(0, 1, "Kernel Occupancy", float("inf")), (1, 1, "Kernel Occupancy", 60.0)])
    assert not list(judge(samples, work, targets, None))


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        pytest.param(None, "no counter samples", id="no-table"),
        pytest.param(counters([]), "no counter samples", id="empty-table"),
        pytest.param(counters([(0, 1, "RT Unit Active", 0.0)]), "RT Unit Active", id="rt-only"),
    ],
)
def test_it_abstains_without_occupancy_and_says_how_to_get_it(
    samples: pd.DataFrame | None, reason: str, work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    with pytest.raises(Unavailable, match=reason) as abstained:
        list(judge(samples, work, targets, None))
    assert "--counters on" in str(abstained.value)


def test_it_abstains_when_others_used_the_gpu(intervals: Make, targets: pd.DataFrame) -> None:
    shared = intervals([(0, 100 * MS)], others=[(0, 20 * MS)])
    with pytest.raises(Unavailable, match="device-wide"):
        list(judge(counters([(0, 10, "Kernel Occupancy", 1.0)]), shared, targets, None))


def test_it_abstains_on_a_cpu(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(judge(None, intervals([(0, MS)], clock="host"), targets, None))
