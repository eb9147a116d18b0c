"""How even the steps are, and what they cost in submissions and waits."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

Handed = Callable[..., tuple[pd.DataFrame, ...]]
Make = Callable[..., pd.DataFrame]
MS = 1_000_000
US = 1_000


def test_even_steps_do_not_vary(row_of_steps: Make) -> None:
    assert METRICS["step_variation"].measure(row_of_steps([10 * MS] * 20), None, None) == 0
    assert METRICS["step_spike_share"].measure(row_of_steps([10 * MS] * 20), None, None) == 0


def test_spikes_share_is_their_excess_over_all_time(row_of_steps: Make) -> None:
    steps = row_of_steps([60 * MS if place == 9 else 10 * MS for place in range(26)])
    assert METRICS["step_spike_share"].measure(steps, None, None) == pytest.approx(50 / 300)


@pytest.mark.parametrize("name", ["step_variation", "step_spike_share"])
def test_variants_are_not_mixed(name: str, row_of_steps: Make) -> None:
    with pytest.raises(Unavailable, match=r"several variants \(paged, sdpa\)"):
        METRICS[name].measure(row_of_steps([10 * MS, 20 * MS] * 20, ("paged", "sdpa")), None, None)


def test_counts_per_step_and_token(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame = intervals([(at * US, 5 * US) for at in range(0, 120, 10)])
    frame = frame.assign(command_buffer=pd.array([at // 2 for at in range(12)], dtype="UInt64"))
    steps = row_of_steps([40 * US] * 3).assign(tokens=2)
    known = frame, targets, None, steps
    assert METRICS["command_buffers_per_step"].measure(*known) == 2
    assert METRICS["command_buffers_per_token"].measure(*known) == 1
    assert METRICS["intervals_per_token"].measure(*known) == 2
    unnamed = frame.assign(command_buffer=pd.array([None] * 12, dtype="UInt64"))
    with pytest.raises(Unavailable, match="to which command buffers"):
        METRICS["command_buffers_per_step"].measure(unnamed, *known[1:])


def test_depth_and_readbacks(
    handed_over: Handed, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame, submissions, completions = handed_over(
        [(at, at + 100, at + 100, at + 900, at + 900) for at in range(0, 4_000, 1_000)]
    )
    depth = METRICS["queue_depth_mean"].measure(frame, targets, None, submissions, completions)
    assert depth == pytest.approx(3_200 / 3_800)
    steps = row_of_steps([2_000 * US] * 2)
    often = METRICS["readbacks_per_step"].measure(
        frame, targets, None, steps, submissions, completions, None
    )
    assert often == 1.5


def test_a_cpu_has_none(intervals: Make, targets: pd.DataFrame, row_of_steps: Make) -> None:
    frame = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        METRICS["intervals_per_token"].measure(frame, targets, None, row_of_steps([10]))
