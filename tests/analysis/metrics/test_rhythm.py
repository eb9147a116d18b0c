"""How even the steps are, and what they cost in submissions and waits."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.metrics import METRICS
from tracekit.base.recording import Process, Provenance

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


def measured(name: str, **tables: pd.DataFrame) -> float:
    steps = tables["steps"]
    length = int(steps["duration"].sum())
    phases = pd.DataFrame({"name": ["steady"], "start": [0], "duration": [length]})
    known = tables | {"phases": phases.assign(clock="host")}
    given = Given(known, Provenance(targets=(Process(4711, "python3"),)))
    return inject(METRICS[name].measure, given)


def test_counts_per_step_and_token(intervals: Make, row_of_steps: Make) -> None:
    frame = intervals([(at * US, 5 * US) for at in range(0, 120, 10)])
    frame = frame.assign(command_buffer=pd.array([at // 2 for at in range(12)], dtype="UInt64"))
    steps = row_of_steps([40 * US] * 3).assign(tokens=2)
    assert measured("command_buffers_per_step", gpu_intervals=frame, steps=steps) == 2
    assert measured("command_buffers_per_token", gpu_intervals=frame, steps=steps) == 1
    assert measured("intervals_per_token", gpu_intervals=frame, steps=steps) == 2
    unnamed = frame.assign(command_buffer=pd.array([None] * 12, dtype="UInt64"))
    with pytest.raises(Unavailable, match="to which command buffers"):
        measured("command_buffers_per_step", gpu_intervals=unnamed, steps=steps)


def test_depth_and_readbacks(handed_over: Handed, row_of_steps: Make) -> None:
    names = ("gpu_intervals", "submissions", "completions")
    made = handed_over(
        [(at, at + 100, at + 100, at + 900, at + 900) for at in range(0, 4_000, 1_000)]
    )
    tables = dict(zip(names, made, strict=True)) | {"steps": row_of_steps([2_000 * US] * 2)}
    assert measured("queue_depth_mean", **tables) == pytest.approx(3_200 / 4_000)
    assert measured("readbacks_per_step", **tables) == 1.5


def test_a_cpu_has_none(intervals: Make, row_of_steps: Make) -> None:
    frame = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        measured("intervals_per_token", gpu_intervals=frame, steps=row_of_steps([10]))
