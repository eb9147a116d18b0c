"""`tiny-encoders`: pauses between the encoders of a command buffer."""

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


def test_boundaries_between_encoders_are_found(
    intervals: Make, row_of_steps: Make, judged: Judge
) -> None:
    frame = buffers(intervals, 20, 4, per_buffer=20)
    steps = row_of_steps([480 * US] * 10)
    [finding] = judged("tiny-encoders", gpu_intervals=frame, steps=steps)
    assert finding.severity is Severity.WARNING
    assert "200 pieces, 20 per step and 20 per token, 20 µs each" in finding.message
    assert "At 190 boundaries between encoders" in finding.message
    assert "idle for 4 µs (median), 760 µs in all" in finding.message
    assert finding.saving == 190 * 4 * US
    assert finding.within == "bubbles"
    assert "one encoder" in finding.advice


def test_it_asks_not_how_long_the_encoders_are(intervals: Make, judged: Judge) -> None:
    assert judged("tiny-encoders", gpu_intervals=buffers(intervals, 500, 60, per_buffer=20))


@pytest.mark.parametrize(
    ("work", "gap", "per_buffer", "number"),
    [
        pytest.param(20, 1, 20, 200, id="short gaps"),
        pytest.param(20, 4, 1, 200, id="gaps between command buffers"),
        pytest.param(20, 4, 8, 8, id="seven boundaries"),
    ],
)
def test_it_is_silent_on(
    work: int, gap: int, per_buffer: int, number: int, *, intervals: Make, judged: Judge
) -> None:
    frame = buffers(intervals, work, gap, per_buffer, number)
    assert not judged("tiny-encoders", gpu_intervals=frame)


def test_the_limit_can_be_set(intervals: Make, judged: Judge) -> None:
    frame = buffers(intervals, 20, 4, per_buffer=20)
    assert not judged("tiny-encoders", {"limit": 0.2}, gpu_intervals=frame)


def test_it_abstains_where_it_cannot_know(intervals: Make, judged: Judge) -> None:
    frame = buffers(intervals, 20, 4)
    unnamed = frame.assign(command_buffer=pd.array([None] * 200, dtype="UInt64"))
    with pytest.raises(Unavailable, match="to which command buffers"):
        judged("tiny-encoders", gpu_intervals=unnamed)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judged("tiny-encoders", gpu_intervals=frame.assign(clock="host"))
