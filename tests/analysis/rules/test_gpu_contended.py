"""`gpu-contended`: other processes on the GPU."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
MS = 1_000_000


def test_work_beside_the_targets_is_named_with_its_owner(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 10 * MS), (10 * MS, 10 * MS)], others=[(5 * MS, 2 * MS), (30 * MS, MS)])
    [finding] = judged("gpu-contended", gpu_intervals=frame)
    assert "WindowServer (420)" in finding.message
    assert "10.0 % in all" in finding.message
    assert finding.evidence == (Evidence("gpu_intervals", 5 * MS, 7 * MS),)


def test_what_others_do_while_the_target_has_nothing_does_not_count(
    intervals: Make, judged: Judge
) -> None:
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)], others=[(5 * MS, 10 * MS)])
    assert not judged("gpu-contended", gpu_intervals=frame)


def test_overlapping_intervals_of_others_count_once(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 100 * MS)], others=[(0, 4 * MS), (1 * MS, 3 * MS)])
    assert not judged("gpu-contended", gpu_intervals=frame)


def test_others_outside_of_the_steady_window_do_not_matter(
    intervals: Make, judged: Judge, phases: Make
) -> None:
    frame = intervals([(100 * MS, 100 * MS)], others=[(0, 90 * MS)])
    assert not judged("gpu-contended", gpu_intervals=frame, phases=phases(100 * MS, 100 * MS))


def test_the_limit_can_be_set(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 100 * MS)], others=[(0, 4 * MS)])
    assert len(judged("gpu-contended", {"limit": 0.03}, gpu_intervals=frame)) == 1


def test_rows_without_a_process_are_said_to_be_unknown(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 10 * MS)], others=[(0, 5 * MS)])
    frame.loc[~frame["target"], ["process", "pid"]] = pd.NA
    [finding] = judged("gpu-contended", gpu_intervals=frame)
    assert "unknown process" in finding.message


def test_it_abstains_on_a_cpu(intervals: Make, judged: Judge) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        (judged("gpu-contended", gpu_intervals=intervals([(0, MS)], clock="host")))


def test_a_window_without_length_says_nothing(intervals: Make, judged: Judge, phases: Make) -> None:
    with pytest.raises(Unavailable, match="the steady window has no length"):
        (judged("gpu-contended", gpu_intervals=intervals([(0, 5 * MS)]), phases=phases(10 * MS, 0)))


def test_what_others_delayed_could_be_saved(intervals: Make, judged: Judge) -> None:
    late = [1_000, 9 * MS]  # committed 1 ms into the gap, while the other had begun
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)], [(5 * MS, 9 * MS)], latencies=late)
    frame = frame.assign(channel="Compute")
    driver = pd.DataFrame(
        {"start": [0], "duration": pd.array([1], dtype="Int64"), "target": [True], "depth": [0]}
    )
    events = driver.iloc[:0].assign(event="")
    tables = {"gpu_intervals": frame, "driver_intervals": driver, "driver_events": events}
    [finding] = judged("gpu-contended", **tables)
    assert finding.saving == 8 * MS
    [finding] = judged("gpu-contended", gpu_intervals=frame)
    assert finding.saving is None
