"""`frequent-readback`: several waits for the device in a step."""

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
    handed: tuple[pd.DataFrame, ...],
    targets: pd.DataFrame,
    steps: pd.DataFrame,
    **limits: float,
) -> list[Finding]:
    intervals, submissions, completions = handed
    rule = RULES["frequent-readback"]
    return list(
        rule.judge(intervals, targets, None, steps, submissions, completions, None, None, **limits)
    )


def annotated(
    frame: pd.DataFrame, targets: pd.DataFrame, steps: pd.DataFrame, spans: pd.DataFrame | None
) -> list[Finding]:
    rule = RULES["frequent-readback"]
    return list(rule.judge(frame, targets, None, steps, None, None, None, spans))


@pytest.fixture
def turns(handed_over: Handed) -> tuple[pd.DataFrame, ...]:
    """Command buffers of 1 ms: 100 µs of encoding, 50 µs of launch, 800 µs of work; 10 to wake."""
    return handed_over(
        [(at, at + 100, at + 150, at + 950, at + 960) for at in range(0, 40_000, 1_000)]
    )


def test_idle_time_after_waits_inside_steps_is_the_saving(
    turns: tuple[pd.DataFrame, ...], targets: pd.DataFrame, row_of_steps: Make
) -> None:
    [finding] = judge(turns, targets, row_of_steps([4_000 * US] * 10))
    assert finding.severity is Severity.WARNING
    assert "waits for the device 3.9 times in a steady step" in finding.message
    # Of 39 waits 9 lie between two steps.
    assert finding.saving == (39 - 9) * 200 * US
    assert finding.within == "bubbles"
    assert finding.evidence[0].end - finding.evidence[0].start == 200 * US


def test_one_wait_in_a_step_is_silent(
    turns: tuple[pd.DataFrame, ...], targets: pd.DataFrame, row_of_steps: Make
) -> None:
    assert not judge(turns, targets, row_of_steps([1_000 * US] * 40))


def test_waits_that_cost_little_are_silent(
    turns: tuple[pd.DataFrame, ...], targets: pd.DataFrame, row_of_steps: Make
) -> None:
    steps = row_of_steps([4_000 * US] * 10)
    assert not judge(turns, targets, steps, limit=0.3)
    assert not judge(turns, targets, steps, most=4.0)


def test_several_command_buffers_without_a_wait_are_silent(
    handed_over: Handed, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    ahead = handed_over(
        [(at, at + 100, at + 950, at + 1_900, at + 1_910) for at in range(0, 40_000, 1_000)]
    )
    assert not judge(ahead, targets, row_of_steps([4_000 * US] * 10))


def test_the_workload_may_tell_of_its_readbacks(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame = intervals([(at * US, 500 * US) for at in range(0, 40_000, 1_000)], clock="host")
    spans = pd.DataFrame(
        {
            "start": [at * US + 500 * US for at in range(0, 40_000, 1_000)],
            "duration": 500 * US,
            "name": "readback",
        }
    )
    steps = row_of_steps([4_000 * US] * 10)
    [finding] = annotated(frame, targets, steps, spans)
    assert "3.9 times in a steady step" in finding.message
    assert finding.saving == 30 * 500 * US
    assert not annotated(frame, targets, row_of_steps([1_000 * US] * 40), spans)


def test_it_abstains_where_nobody_reports(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make, turns: tuple[pd.DataFrame, ...]
) -> None:
    frame = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="has no spans `readback`"):
        annotated(frame, targets, row_of_steps([10]), None)
    with pytest.raises(Unavailable, match="no step in its steady phase"):
        judge(turns, targets, row_of_steps([10]).assign(phase="warm-up"))
