"""`gather-share`: copies before attention."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
US = 1_000


def judge(
    intervals: Make, targets: pd.DataFrame, gather: int, label: str = "Gather", **limits: float
) -> list[Finding]:
    """Judge ten layers of a gather of `gather` ns, a gap of 5 µs, and 60 µs of attention."""
    rows = [
        one
        for layer in range(10)
        for one in ((layer * 100 * US, gather), (layer * 100 * US + gather + 5 * US, 60 * US))
    ]
    frame = intervals(rows)
    frame["label"] = pd.array([label, "ScaledDotProductAttention"] * 10, dtype="string")
    return list(RULES["gather-share"].judge(frame, targets, None, None, **limits))


def test_gathers_that_take_long_are_found(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(intervals, targets, 20 * US)
    assert finding.saving == 10 * 20 * US
    assert "25.0 % of the target's GPU time" in finding.message
    assert "10 times “Gather”" in finding.message
    assert finding.evidence[0] == Evidence("gpu_intervals", 0, 20 * US)
    assert len(finding.evidence) == 10


def test_small_gathers_are_passed(intervals: Make, targets: pd.DataFrame) -> None:
    assert not judge(intervals, targets, 2 * US)
    assert judge(intervals, targets, 2 * US, limit=0.03)


def test_without_names_nothing_is_claimed(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 10), (20, 10)])
    frame["label"] = pd.array(["Compute Command 0", "Compute Command 1"], dtype="string")
    with pytest.raises(Unavailable, match="do not name kernels"):
        list(RULES["gather-share"].judge(frame, targets, None, None))


def test_on_a_cpu_it_abstains(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(RULES["gather-share"].judge(intervals([(0, 9)], clock="host"), targets, None, None))


def test_work_of_no_length_is_no_measure(intervals: Make, targets: pd.DataFrame) -> None:
    named = intervals([(3, 0), (5, 0)]).assign(label="Gather")
    with pytest.raises(Unavailable, match="has no length"):
        list(RULES["gather-share"].judge(named, targets, None, None))
