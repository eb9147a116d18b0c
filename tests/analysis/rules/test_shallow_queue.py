"""`shallow-queue`: the queue runs empty between iterations."""

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


def turns(handed_over: Handed, host: int, device: int) -> dict[str, pd.DataFrame]:
    """Make 20 command buffers, each begun 20 µs after the last is complete; times in µs."""
    rows, at = list[tuple[int, ...]](), 0
    for _ in range(20):
        commit, end = at + host, at + host + 50 + device
        rows.append((at, commit, commit + 50, end, end + 10))
        at = end + 30
    return named(handed_over, rows)


def named(handed_over: Handed, rows: list[tuple[int, ...]]) -> dict[str, pd.DataFrame]:
    names = ("gpu_intervals", "submissions", "completions")
    return dict(zip(names, handed_over(rows), strict=True))


def test_idle_time_of_turns_could_be_won(handed_over: Handed, judged: Judge) -> None:
    [finding] = judged("shallow-queue", **turns(handed_over, host=200, device=700))
    assert finding.severity is Severity.WARNING
    assert "Before 19 gaps the host had waited for all of its work" in finding.message
    assert finding.saving == 19 * (200 + 50 + 30) * US
    assert finding.within == "bubbles"
    assert len(finding.evidence) == 19
    assert "mx.async_eval" in finding.advice


def test_a_host_that_takes_longer_than_the_device_bounds_the_saving(
    handed_over: Handed, judged: Judge
) -> None:
    """Side by side, an iteration takes what the host takes: 720 µs in place of 980."""
    [finding] = judged("shallow-queue", **turns(handed_over, host=700, device=200))
    assert finding.saving is not None
    assert finding.saving / (19 * 260 * US) == pytest.approx(1, abs=0.06)


def test_two_in_flight_are_silent(handed_over: Handed, judged: Judge) -> None:
    ahead = [(at, at + 200, at + 900, at + 1_850, at + 2_000) for at in range(0, 20_000, 1_000)]
    assert not judged("shallow-queue", **named(handed_over, ahead))


def test_a_device_that_hardly_idles_is_silent(handed_over: Handed, judged: Judge) -> None:
    busy = turns(handed_over, host=10, device=5_000)
    assert not judged("shallow-queue", **busy)
    assert judged("shallow-queue", {"limit": 0.01}, **busy)


def test_a_late_host_that_never_waits_is_silent(handed_over: Handed, judged: Judge) -> None:
    late = [(at, at + 1_000, at + 1_010, at + 1_410, at + 1_420) for at in range(0, 20_000, 1_000)]
    assert not judged("shallow-queue", **named(handed_over, late))


def test_waits_inside_of_iterations_are_left_to_their_rule(
    handed_over: Handed, judged: Judge, row_of_steps: Make
) -> None:
    tables = turns(handed_over, host=200, device=700)
    [finding] = judged("shallow-queue", **tables, steps=row_of_steps([1_960 * US] * 10))
    assert finding.saving == 9 * 280 * US


def test_it_abstains_where_it_cannot_know(handed_over: Handed, judged: Judge) -> None:
    tables: dict[str, Any] = turns(handed_over, 200, 700)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judged("shallow-queue", gpu_intervals=tables["gpu_intervals"].assign(clock="host"))
    with pytest.raises(Unavailable, match="both a commit and a completion"):
        judged("shallow-queue", gpu_intervals=tables["gpu_intervals"])
