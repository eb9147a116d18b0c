"""`host-bound`: the device waits while the host encodes."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity

Handed = Callable[..., tuple[pd.DataFrame, ...]]
Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
US = 1_000


def late(handed_over: Handed, number: int = 40, busy: int = 400) -> dict[str, pd.DataFrame]:
    """Make command buffers that take 1 ms to encode, each begun at the last one's commit."""
    rows = [
        (at, at + 1_000, at + 1_050, at + 1_050 + busy, at + 1_060 + busy)
        for at in range(0, number * 1_000, 1_000)
    ]
    names = ("gpu_intervals", "submissions", "completions")
    return dict(zip(names, handed_over(rows), strict=True))


def test_idle_time_while_the_host_encodes_is_the_saving(handed_over: Handed, judged: Judge) -> None:
    [finding] = judged("host-bound", **late(handed_over))
    assert finding.severity is Severity.WARNING
    # After 400 µs of work it lasts 550 until the next commit, and 50 until the start.
    assert finding.saving == 39 * 600 * US
    assert finding.within == "bubbles"
    assert "in 39 gaps) while the host encoded the next work" in finding.message
    assert "The target has 40 pieces of device work" in finding.message
    assert finding.evidence[0].end - finding.evidence[0].start == 600 * US
    assert "mx.compile" in finding.advice


def test_a_host_that_waits_is_for_another_rule(handed_over: Handed, judged: Judge) -> None:
    rows = [(at, at + 600, at + 650, at + 990, at + 1_000) for at in range(0, 40_000, 1_000)]
    frame, submissions, completions = handed_over(rows)
    tables: dict[str, Any] = {"submissions": submissions, "completions": completions}
    assert not judged("host-bound", gpu_intervals=frame, **tables)


def test_work_that_is_committed_in_time_is_silent(handed_over: Handed, judged: Judge) -> None:
    assert not judged("host-bound", **late(handed_over, busy=980))


def test_it_abstains_where_it_cannot_know(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 5), (10, 5)], latencies=[None, None])
    with pytest.raises(Unavailable, match="when work was committed is not known"):
        judged("host-bound", gpu_intervals=frame)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judged("host-bound", gpu_intervals=frame.assign(clock="host"))
