"""`late-start`: committed work that waits for an idle device."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Handed = Callable[..., tuple[pd.DataFrame, ...]]
Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
US = 1_000


def held(intervals: Make, pause: int, others: list[tuple[int, int]] | None = None) -> pd.DataFrame:
    """Make 11 command buffers of 600 µs, each committed 1 ms before, `pause` µs apart."""
    each = 600 + pause
    frame = intervals(
        [(step * each * US, 600 * US) for step in range(11)],
        others,
        latencies=[1_000 * US] * 11,
    )
    return frame.assign(channel="Compute")


def test_idle_time_of_committed_work_is_the_saving(intervals: Make, judged: Judge) -> None:
    [finding] = judged("late-start", gpu_intervals=held(intervals, 400))
    assert finding.severity is Severity.WARNING
    assert finding.saving == 10 * 400 * US
    assert finding.within == "bubbles"
    assert "10 starts waited longer than 100 µs, half of them 400 µs or longer" in finding.message
    assert "37.7 % of the time from the target's first" in finding.message
    assert finding.evidence[0] == Evidence("gpu_intervals", 600 * US, 1_000 * US)
    assert "event of another stream" in finding.advice


def test_starts_that_are_all_alike_are_boundaries_up_to_300_us(
    intervals: Make, judged: Judge
) -> None:
    assert not judged("late-start", gpu_intervals=held(intervals, 300))
    assert judged("late-start", gpu_intervals=held(intervals, 301))


def test_few_starts_are_late_from_100_us_on(intervals: Make, judged: Judge) -> None:
    assert not judged("late-start", gpu_intervals=held(intervals, 100)[:7])
    assert judged("late-start", gpu_intervals=held(intervals, 101)[:7])


def test_a_start_that_stands_out_of_the_boundaries_is_late(
    handed_over: Handed, judged: Judge
) -> None:
    rows, at = [], 0
    for number in range(60):
        at += 300 if number % 6 == 0 else 60
        rows.append((at - 5_000, at - 4_990, at, at + 500, at + 540))
        at += 500
    frame, submissions, completions = handed_over(rows)
    tables = {"gpu_intervals": frame, "submissions": submissions, "completions": completions}
    [finding] = judged("late-start", **tables)
    assert finding.saving == 9 * 300 * US
    [boundaries] = judged("frequent-command-buffers", **tables)
    assert boundaries.saving == 50 * 60 * US


def test_waiting_behind_own_work_is_no_idle_time(intervals: Make, judged: Judge) -> None:
    assert not judged("late-start", gpu_intervals=held(intervals, 0))


def test_time_of_others_on_the_channel_is_left_out(intervals: Make, judged: Judge) -> None:
    others = [(step * 1_000 * US + 650 * US, 330 * US) for step in range(10)]
    assert not judged("late-start", gpu_intervals=held(intervals, 400, others))


def test_what_follows_an_empty_queue_is_late_only_if_most_of_the_gap_is(
    intervals: Make, judged: Judge
) -> None:
    def after(latency: int) -> pd.DataFrame:
        rows = [(step * 1_000 * US, 600 * US) for step in range(11)]
        return intervals(rows, latencies=[latency * US] * 11)

    assert not judged("late-start", gpu_intervals=after(200))
    [finding] = judged("late-start", gpu_intervals=after(201))
    assert finding.saving == 11 * 201 * US


def test_only_the_steady_window_counts(intervals: Make, judged: Judge, phases: Make) -> None:
    frame = held(intervals, 400)
    window = phases(5_000 * US, 3_000 * US)
    [finding] = judged("late-start", gpu_intervals=frame, phases=window)
    assert "of the steady window" in finding.message
    assert finding.saving == 3 * 400 * US


def test_it_abstains_where_it_cannot_know(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 5), (10, 5)], latencies=[None, None])
    with pytest.raises(Unavailable, match="when work was committed is not known"):
        judged("late-start", gpu_intervals=frame)
    with pytest.raises(Unavailable, match="target is not known"):
        judged("late-start", gpu_intervals=frame, known=False)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judged("late-start", gpu_intervals=intervals([(0, 5)], clock="host"))
