"""`gpu-contended`: other processes on the GPU."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["gpu-contended"].judge
MS = 1_000_000


def test_others_share_of_the_window_is_named_with_its_owner(
    intervals: Make, targets: pd.DataFrame
) -> None:
    frame = intervals([(0, 10 * MS), (10 * MS, 10 * MS)], others=[(5 * MS, 2 * MS), (30 * MS, MS)])
    [finding] = judge(frame, targets, None, None, None)
    assert "WindowServer (420)" in finding.message
    assert "10.0" in finding.message
    assert finding.evidence == (Evidence("gpu_intervals", 5 * MS, 7 * MS),)
    assert finding.saving is None


def test_overlapping_intervals_of_others_count_once(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 100 * MS)], others=[(0, 4 * MS), (1 * MS, 3 * MS)])
    assert not list(judge(frame, targets, None, None, None))


def test_others_outside_of_the_steady_window_do_not_matter(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    frame = intervals([(100 * MS, 100 * MS)], others=[(0, 90 * MS)])
    assert not list(judge(frame, targets, phases(100 * MS, 100 * MS), None, None))


def test_the_limit_can_be_set(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 100 * MS)], others=[(0, 4 * MS)])
    assert len(list(judge(frame, targets, None, None, None, limit=0.03))) == 1


def test_rows_without_a_process_are_said_to_be_unknown(
    intervals: Make, targets: pd.DataFrame
) -> None:
    frame = intervals([(0, 10 * MS)], others=[(0, 5 * MS)])
    frame.loc[~frame["target"], ["process", "pid"]] = pd.NA
    [finding] = judge(frame, targets, None, None, None)
    assert "unknown process" in finding.message


def test_it_abstains_on_a_cpu(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(judge(intervals([(0, MS)], clock="host"), targets, None, None, None))


def test_a_window_without_length_says_nothing(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    with pytest.raises(Unavailable, match="the steady window has no length"):
        list(judge(intervals([(0, 5 * MS)]), targets, phases(10 * MS, 0), None, None))


def test_what_others_delayed_could_be_saved(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 10 * MS), (15 * MS, 5 * MS)], others=[(5 * MS, 10 * MS)])
    gaps = pd.DataFrame(
        {
            "duration": [3 * MS, 2 * MS],
            "cause": pd.Categorical(["other-process", "host-late"]),
        }
    )
    causes = pd.DataFrame({"cause": ["other-process"], "reason": pd.array([None], "string")})
    [finding] = judge(frame, targets, None, gaps, causes)
    assert finding.saving == 3 * MS
    [finding] = judge(frame, targets, None, gaps, causes.assign(reason="nobody knows."))
    assert finding.saving is None
