"""What a token costs the GPU."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics.device import encoders_per_token, gpu_time_per_token

Make = Callable[..., pd.DataFrame]


def encoders(starts: list[int], target: bool = True) -> pd.DataFrame:
    return pd.DataFrame({"start": starts, "duration": 1, "target": [target] * len(starts)})


def test_gpu_time_is_the_union_in_the_window_over_its_tokens(
    intervals: Make, targets: pd.DataFrame, phases: Make, row_of_steps: Make
) -> None:
    frame = intervals([(0, 150), (120, 60), (300, 20), (390, 40)], others=[(200, 90)])
    steps = row_of_steps([100, 80, 220]).assign(tokens=2)
    # Of 100 … 400: 100 to 180, 300 to 320 and 390 to 400.
    assert gpu_time_per_token.measure(frame, targets, phases(100, 300), steps) == 110 / 6


def test_without_marks_the_span_of_the_work_is_the_window(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame = intervals([(0, 10), (90, 10)])
    assert gpu_time_per_token.measure(frame, targets, None, row_of_steps([50, 50])) == 10


def test_encoders_are_those_that_begin_in_the_window(
    intervals: Make, targets: pd.DataFrame, phases: Make, row_of_steps: Make
) -> None:
    frame, steps = intervals([(0, 500)]), row_of_steps([150, 150])
    begun = pd.concat([encoders([99, 100, 150, 299, 300]), encoders([120, 130], target=False)])
    assert encoders_per_token.measure(begun, frame, targets, phases(100, 200), steps) == 1.5


def test_encoders_that_all_lie_outside_are_no_zero(
    intervals: Make, targets: pd.DataFrame, phases: Make, row_of_steps: Make
) -> None:
    frame, steps = intervals([(0, 500)]), row_of_steps([100])
    with pytest.raises(Unavailable, match="no encoder of the target begins in the steady window"):
        encoders_per_token.measure(encoders([5]), frame, targets, phases(100, 200), steps)


def test_work_without_tokens_has_no_cost_of_one(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame, steps = intervals([(0, 10)]), row_of_steps([10]).assign(tokens=0)
    with pytest.raises(Unavailable, match="produces no tokens"):
        gpu_time_per_token.measure(frame, targets, None, steps)
    with pytest.raises(Unavailable, match="produces no tokens"):
        encoders_per_token.measure(encoders([5]), frame, targets, None, steps)


def test_a_cpu_spends_no_gpu_time(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame, steps = intervals([(0, 10)], clock="host"), row_of_steps([10])
    with pytest.raises(Unavailable, match="ran on the CPU"):
        gpu_time_per_token.measure(frame, targets, None, steps)
    with pytest.raises(Unavailable, match="ran on the CPU"):
        encoders_per_token.measure(encoders([5]), frame, targets, None, steps)


def test_steps_whose_work_was_not_recorded_cost_nothing_known(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    frame, steps = intervals([(0, 10), (100, 10)]), row_of_steps([100, 100, 100, 100])
    for measure in (gpu_time_per_token.measure, partial(encoders_per_token.measure, encoders([5]))):
        with pytest.raises(Unavailable, match="of the steady steps have no interval"):
            measure(frame, targets, None, steps)
