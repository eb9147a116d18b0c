"""`frequent-command-buffers`: too little work in each."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES

Handed = Callable[..., tuple[pd.DataFrame, ...]]
Make = Callable[..., pd.DataFrame]
US = 1_000


def judge(
    frame: pd.DataFrame,
    targets: pd.DataFrame,
    steps: pd.DataFrame | None,
    submissions: pd.DataFrame | None = None,
    completions: pd.DataFrame | None = None,
    **limits: float,
) -> list[Finding]:
    rule = RULES["frequent-command-buffers"]
    return list(rule.judge(frame, targets, None, steps, submissions, completions, None, **limits))


def buffers(
    intervals: Make, work: int, gap: int, per_buffer: int = 1, number: int = 200
) -> pd.DataFrame:
    frame = intervals([(at * (work + gap) * US, work * US) for at in range(number)])
    numbers = [at // per_buffer for at in range(number)]
    return frame.assign(command_buffer=pd.array(numbers, dtype="UInt64"))


def test_gaps_before_small_command_buffers_are_found(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    [finding] = judge(buffers(intervals, 40, 20), targets, row_of_steps([100] * 10))
    assert finding.severity is Severity.WARNING
    assert "200 command buffers" in finding.message
    assert "20 per step and 20 per token" in finding.message
    assert "16,694 a second, with 40 µs of device work in each" in finding.message
    assert "MLX_MAX_OPS_PER_BUFFER" in finding.advice
    # 8 ms of work would do with 40 command buffers of 200 µs instead of 200.
    assert finding.saving == round(199 * 20 * US * 0.8)


@pytest.mark.parametrize(
    ("work", "gap", "per_buffer", "steps"),
    [
        pytest.param(300, 50, 1, 10, id="enough work in each"),
        pytest.param(40, 20, 20, 10, id="few of them"),
        pytest.param(40, 20, 1, 100, id="few in a step"),
        pytest.param(40, 1, 1, 10, id="short gaps"),
        pytest.param(40, 300, 1, 10, id="gaps that are no launches"),
    ],
)
def test_it_is_silent_on(
    work: int,
    gap: int,
    per_buffer: int,
    steps: int,
    *,
    intervals: Make,
    targets: pd.DataFrame,
    row_of_steps: Make,
) -> None:
    frame = buffers(intervals, work, gap, per_buffer)
    assert not judge(frame, targets, row_of_steps([100] * steps))


def test_gaps_after_waits_are_not_counted(
    handed_over: Handed, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    rows = [(at + 60, at + 70, at + 80, at + 130, at + 140) for at in range(0, 20_000, 100)]
    frame, submissions, completions = handed_over(rows)
    steps = row_of_steps([100] * 10)
    assert judge(frame, targets, steps)
    assert not judge(frame, targets, steps, submissions, completions)


def test_it_abstains_where_it_cannot_know(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame = buffers(intervals, 40, 20)
    with pytest.raises(Unavailable, match="no table steps: the program tells"):
        judge(frame, targets, None)
    with pytest.raises(Unavailable, match="no step in its steady phase"):
        judge(frame, targets, row_of_steps([100]).assign(phase="warm-up"))
    unnamed = frame.assign(command_buffer=pd.array([None] * len(frame), dtype="UInt64"))
    with pytest.raises(Unavailable, match="to which command buffers"):
        judge(unnamed, targets, row_of_steps([100]))
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judge(frame.assign(clock="host"), targets, row_of_steps([100]))
