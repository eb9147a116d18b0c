"""`metadata-per-layer`: the same small arrays for every layer."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
US = 1_000
STEP = 500 * US


def steps(count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [place * STEP for place in range(count)],
            "duration": pd.array([STEP] * count, dtype="Int64"),
            "phase": ["steady"] * count,
            "tokens": pd.array([1] * count, dtype="Int64"),
        }
    )


def judge(
    intervals: Make, targets: pd.DataFrame, layers: int, copy: int = 4 * US, **limits: float
) -> list[Finding]:
    """Judge three steps: each layer a copy, a gap of 2 µs, a cast of 3 µs, and attention."""
    rows: list[tuple[int, int]] = []
    labels: list[str] = []
    for step in range(3):
        for layer in range(layers):
            at = step * STEP + layer * 57 * US
            rows += [(at, copy), (at + copy + 2 * US, 3 * US), (at + copy + 5 * US, 40 * US)]
            labels += ["Copy", "AsType", "paged_attention"]
    frame = intervals(rows)
    frame["label"] = pd.array(labels, dtype="string")
    rule = RULES["metadata-per-layer"].judge
    return list(rule(frame, targets, None, steps(3), None, **limits))


def test_the_same_copies_for_each_layer_are_found(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(intervals, targets, layers=8)
    assert "A typical step has 16 tiny pieces of GPU work" in finding.message
    assert "(“Copy”, “AsType”)" in finding.message
    cost = 24 * (4 * US) + 21 * (57 - 49) * US + 24 * (3 * US + 2 * US)
    assert finding.saving == round(cost * (1 - 2 / 16))


def test_copies_once_a_step_are_passed(intervals: Make, targets: pd.DataFrame) -> None:
    assert not judge(intervals, targets, layers=1)
    assert not judge(intervals, targets, layers=3)
    assert judge(intervals, targets, layers=3, repeats=3)


def test_long_copies_are_no_metadata(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(intervals, targets, layers=8, copy=11 * US)
    assert "8 tiny pieces" in finding.message
    assert "“Copy”" not in finding.message


def test_what_takes_no_time_is_passed(intervals: Make, targets: pd.DataFrame) -> None:
    assert not judge(intervals, targets, layers=8, limit=0.5)


def test_without_names_or_steps_nothing_is_claimed(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 10), (20, 10)])
    frame["label"] = pd.array(["Compute Command 0", "Compute Command 1"], dtype="string")
    rule = RULES["metadata-per-layer"].judge
    with pytest.raises(Unavailable, match="do not name kernels"):
        list(rule(frame, targets, None, steps(1), None))
    with pytest.raises(Unavailable, match="no repeating structure"):
        list(rule(frame, targets, None, steps(0), None))
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(rule(intervals([(0, 9)], clock="host"), targets, None, steps(1), None))
