"""`shallow-queue`: host and device take turns."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES

Handed = Callable[..., tuple[pd.DataFrame, ...]]
Make = Callable[..., pd.DataFrame]
US = 1_000


def judge(
    handed: tuple[pd.DataFrame, ...],
    targets: pd.DataFrame,
    steps: pd.DataFrame | None = None,
    **limits: float,
) -> list[Finding]:
    intervals, submissions, completions = handed
    rule = RULES["shallow-queue"]
    return list(
        rule.judge(intervals, targets, None, steps, submissions, completions, None, **limits)
    )


def turns(handed_over: Handed, host: int, device: int) -> tuple[pd.DataFrame, ...]:
    """Make 20 command buffers, each begun 20 µs after the last is complete; times in µs."""
    rows, at = [], 0
    for _ in range(20):
        commit, end = at + host, at + host + 50 + device
        rows.append((at, commit, commit + 50, end, end + 10))
        at = end + 30
    return handed_over(rows)


def test_idle_time_of_turns_could_be_won(handed_over: Handed, targets: pd.DataFrame) -> None:
    [finding] = judge(turns(handed_over, host=200, device=700), targets)
    assert finding.severity is Severity.WARNING
    assert "at most one command buffer was in flight" in finding.message
    assert finding.saving == 19 * (200 + 50 + 30) * US
    assert finding.within == "bubbles"
    assert len(finding.evidence) == 19


def test_no_more_is_won_than_the_host_waits(handed_over: Handed, targets: pd.DataFrame) -> None:
    [finding] = judge(turns(handed_over, host=700, device=200), targets)
    waited = 200 + 10 + 50
    assert finding.saving is not None
    assert 19 * 200 * US <= finding.saving <= 20 * waited * US


def test_two_in_flight_are_silent(handed_over: Handed, targets: pd.DataFrame) -> None:
    ahead = [
        (
            step * 1_000,
            step * 1_000 + 200,
            step * 1_000 + 900,
            step * 1_000 + 1_850,
            1_000 * (step + 2),
        )
        for step in range(20)
    ]
    assert not judge(handed_over(ahead), targets)


def test_a_device_that_hardly_idles_is_silent(handed_over: Handed, targets: pd.DataFrame) -> None:
    assert not judge(turns(handed_over, host=10, device=5_000), targets)
    assert judge(turns(handed_over, host=10, device=5_000), targets, limit=0.01)


def test_a_late_host_that_never_waits_is_silent(handed_over: Handed, targets: pd.DataFrame) -> None:
    late = [
        (
            step * 1_000,
            step * 1_000 + 950,
            step * 1_000 + 960,
            step * 1_000 + 1_400,
            step * 1_000 + 1_410,
        )
        for step in range(20)
    ]
    assert not judge(handed_over(late), targets)


def test_waits_inside_of_steps_are_left_to_their_rule(
    handed_over: Handed, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    handed = turns(handed_over, host=200, device=700)
    steps = row_of_steps([1_960 * US] * 10)
    [finding] = judge(handed, targets, steps)
    assert finding.saving == 9 * 280 * US


def test_late_starts_are_left_to_their_rule(handed_over: Handed, targets: pd.DataFrame) -> None:
    rows = [(at, at + 200, at + 500, at + 900, at + 910) for at in range(0, 20_000, 1_000)]
    [finding] = judge(handed_over(rows), targets)
    assert finding.saving == 19 * 300 * US


def test_it_abstains_where_it_cannot_know(
    handed_over: Handed, targets: pd.DataFrame, intervals: Make
) -> None:
    frame, submissions, completions = turns(handed_over, 200, 700)
    host = frame.assign(clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(inject(RULES["shallow-queue"].judge, {"gpu_intervals": host, "targets": targets}))
    with pytest.raises(Unavailable, match="no table submissions"):
        list(inject(RULES["shallow-queue"].judge, {"gpu_intervals": frame, "targets": targets}))
    with pytest.raises(Unavailable, match="both a submission and a completion"):
        judge((frame, submissions, completions.iloc[:0]), targets)
