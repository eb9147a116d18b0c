"""`frequent-command-buffers`: pauses between command buffers that were ready."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity

Handed = Callable[..., tuple[pd.DataFrame, ...]]
Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
US = 1_000


def buffers(
    intervals: Make, work: int, gap: int, per_buffer: int = 1, number: int = 200, ahead: int = 5_000
) -> pd.DataFrame:
    """Make pieces of `work` µs, `gap` µs apart, committed `ahead` µs before they start."""
    rows = [(at * (work + gap) * US, work * US) for at in range(number)]
    frame = intervals(rows, latencies=[ahead * US] * number)
    numbers = [at // per_buffer for at in range(number)]
    return frame.assign(command_buffer=pd.array(numbers, dtype="UInt64"))


def test_boundaries_between_committed_buffers_are_found(
    intervals: Make, row_of_steps: Make, judged: Judge
) -> None:
    steps = row_of_steps([1_200 * US] * 10)
    frame = buffers(intervals, 40, 20)
    [finding] = judged("frequent-command-buffers", gpu_intervals=frame, steps=steps)
    assert finding.severity is Severity.WARNING
    assert "200 command buffers" in finding.message
    assert "20 per step and 20 per token" in finding.message
    assert (
        "At 199 boundaries between them the device was idle for 20 µs (median)" in finding.message
    )
    assert "MLX_MAX_OPS_PER_BUFFER" in finding.advice
    assert "MLX_MAX_MB_PER_BUFFER" in finding.advice
    assert finding.saving == 199 * 20 * US
    assert finding.within == "bubbles"
    assert finding.evidence[0].end - finding.evidence[0].start == 20 * US


@pytest.mark.parametrize(("work", "gap"), [(500, 60), (1_500, 260)])
def test_much_work_in_a_buffer_changes_nothing(
    intervals: Make, judged: Judge, work: int, gap: int
) -> None:
    """A boundary costs what it costs."""
    [finding] = judged("frequent-command-buffers", gpu_intervals=buffers(intervals, work, gap))
    assert finding.saving == 199 * gap * US


@pytest.mark.parametrize(
    ("work", "gap", "per_buffer", "number", "ahead"),
    [
        pytest.param(500, 10, 1, 200, 5_000, id="short gaps"),
        pytest.param(40, 20, 200, 200, 5_000, id="one buffer"),
        pytest.param(40, 20, 1, 8, 5_000, id="seven boundaries"),
        pytest.param(900, 301, 1, 200, 5_000, id="late starts"),
        pytest.param(40, 20, 1, 200, 19, id="committed after the gap began"),
    ],
)
def test_it_is_silent_on(
    work: int,
    gap: int,
    per_buffer: int,
    number: int,
    ahead: int,
    *,
    intervals: Make,
    judged: Judge,
) -> None:
    frame = buffers(intervals, work, gap, per_buffer, number, ahead)
    assert not judged("frequent-command-buffers", gpu_intervals=frame)


def test_gaps_after_waits_are_not_counted(handed_over: Handed, judged: Judge) -> None:
    rows = [(at + 60, at + 70, at + 80, at + 130, at + 140) for at in range(0, 20_000, 100)]
    frame, submissions, completions = handed_over(rows)
    assert not judged(
        "frequent-command-buffers",
        gpu_intervals=frame.assign(channel="Compute"),
        submissions=submissions,
        completions=completions,
    )


def test_it_abstains_where_it_cannot_know(intervals: Make, judged: Judge) -> None:
    frame = buffers(intervals, 40, 20)
    unnamed = frame.assign(command_buffer=pd.array([None] * 200, dtype="UInt64"))
    with pytest.raises(Unavailable, match="to which command buffers"):
        judged("frequent-command-buffers", gpu_intervals=unnamed)
    untimed = frame.assign(start_latency=pd.array([None] * 200, dtype="Int64"))
    with pytest.raises(Unavailable, match="when work was committed is not known"):
        judged("frequent-command-buffers", gpu_intervals=untimed)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judged("frequent-command-buffers", gpu_intervals=frame.assign(clock="host"))
