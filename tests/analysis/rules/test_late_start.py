"""`late-start`: submitted work that waits for an idle device."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
US = 1_000


def judge(frame: pd.DataFrame, targets: pd.DataFrame, **limits: float) -> list[Finding]:
    return list(RULES["late-start"].judge(frame, targets, None, **limits))


def turns(intervals: Make, wait: int, others: list[tuple[int, int]] | None = None) -> pd.DataFrame:
    """Make 11 pieces of 600 µs, 400 µs apart, submitted `wait` µs before they start."""
    return intervals(
        [(step * 1_000 * US, 600 * US) for step in range(11)], others, latencies=[wait * US] * 11
    )


def test_idle_time_in_waits_is_the_saving(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(turns(intervals, 300), targets)
    assert finding.severity is Severity.WARNING
    assert finding.saving == 10 * 300 * US
    assert finding.within == "bubbles"
    assert "10 starts waited longer than 100 µs" in finding.message
    assert "28.3 % of the time from the target's first" in finding.message
    assert finding.evidence[0] == Evidence("gpu_intervals", 700 * US, 1_000 * US)


def test_waiting_behind_own_work_is_no_latency(intervals: Make, targets: pd.DataFrame) -> None:
    queued = intervals(
        [(step * 600 * US, 600 * US) for step in range(10)], latencies=[5_000 * US] * 10
    )
    assert not judge(queued, targets)
    [finding] = judge(turns(intervals, 900), targets)
    assert finding.saving == 10 * 400 * US


def test_waiting_behind_others_is_no_latency(intervals: Make, targets: pd.DataFrame) -> None:
    others = [(step * 1_000 * US + 650 * US, 330 * US) for step in range(10)]
    assert judge(turns(intervals, 300), targets)
    assert not judge(turns(intervals, 300, others), targets)


def test_usual_launches_are_silent(intervals: Make, targets: pd.DataFrame) -> None:
    assert not judge(turns(intervals, 80), targets)
    [finding] = judge(turns(intervals, 80), targets, late=50_000)
    assert finding.saving == 10 * 80 * US


def test_few_late_starts_are_silent(intervals: Make, targets: pd.DataFrame) -> None:
    frame = turns(intervals, 20)
    frame.loc[4, "start_latency"] = 350 * US
    assert not judge(frame, targets)
    assert judge(frame, targets, limit=0.01)


def test_only_the_steady_window_counts(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    frame = turns(intervals, 300)
    [finding] = RULES["late-start"].judge(frame, targets, phases(5_000 * US, 3_000 * US))
    assert "of the steady window" in finding.message
    assert finding.saving == 3 * 300 * US


def test_it_abstains_without_latencies(
    intervals: Make, targets: pd.DataFrame, nobody: pd.DataFrame
) -> None:
    frame = intervals([(0, 5), (10, 5)], latencies=[None, None])
    with pytest.raises(Unavailable, match="no interval of the target has a start latency"):
        judge(frame, targets)
    with pytest.raises(Unavailable, match="target is not known"):
        judge(frame, nobody)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judge(intervals([(0, 5)], clock="host"), targets)
