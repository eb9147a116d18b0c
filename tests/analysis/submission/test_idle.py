"""Gaps of the device, and how much of them submitted work waited."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import Window
from tracekit.analysis.submission import IdleGaps, Waits

Make = Callable[..., pd.DataFrame]
US = 1_000


def found(frame: pd.DataFrame, end: int = 1_000) -> IdleGaps:
    return IdleGaps.of(frame, Window(0, end * US))


def test_a_wait_counts_only_while_the_device_was_idle(intervals: Make) -> None:
    frame = intervals(
        [(100 * US, 100 * US), (500 * US, 100 * US), (600 * US, 100 * US)],
        latencies=[50 * US, 400 * US, 450 * US],
    )
    idle = found(frame)
    assert idle.starts.tolist() == [0, 200 * US, 700 * US]
    assert idle.waited.tolist() == [50 * US, 300 * US, 0]
    assert idle.before.tolist() == [100 * US, 0, 300 * US]


def test_work_of_others_is_no_wait(intervals: Make) -> None:
    frame = intervals([(500 * US, 100 * US)], [(300 * US, 150 * US)], latencies=[400 * US])
    assert found(frame).waited.tolist() == [250 * US, 0]
    assert found(frame).before.tolist() == [100 * US, 400 * US]


def test_an_unknown_latency_is_no_wait(intervals: Make) -> None:
    frame = intervals([(500 * US, 100 * US)], latencies=[None])
    assert found(frame).waited.tolist() == [0, 0]


def test_gaps_that_hold_waits(intervals: Make) -> None:
    idle = found(intervals([(100 * US, 100 * US), (400 * US, 100 * US)]))
    at = np.array([250, 260, 450, 900], dtype=np.int64) * US
    assert idle.holding(Waits(at, at + 1)).tolist() == [1, 2]
    busy = found(intervals([(0, 1_000 * US)]))
    assert busy.starts.size == 0
    assert busy.holding(Waits(at, at + 1)).size == 0
