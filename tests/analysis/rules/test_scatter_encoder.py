"""`scatter-encoder`: writes to the cache as work of their own."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
US = 1_000


def judge(
    intervals: Make, targets: pd.DataFrame, label: str, phases: pd.DataFrame | None = None
) -> list[Finding]:
    """Judge ten layers of a write of 4 µs, a gap of 6 µs, and 90 µs of attention."""
    rows = [
        one
        for layer in range(10)
        for one in ((layer * 100 * US, 4 * US), (layer * 100 * US + 10 * US, 90 * US))
    ]
    frame = intervals(rows)
    frame["label"] = pd.array([label, "paged_attention"] * 10, dtype="string")
    return list(RULES["scatter-encoder"].judge(frame, targets, phases, None))


@pytest.mark.parametrize("label", ["Scatter", "SliceUpdate", "reshape_and_cache"])
def test_writes_of_their_own_are_found(intervals: Make, targets: pd.DataFrame, label: str) -> None:
    [finding] = judge(intervals, targets, label)
    assert finding.saving == 10 * 4 * US
    assert f"10 pieces of the target's GPU work do nothing but write to the cache (“{label}”)" in (
        finding.message
    )
    assert "4.0 % of" in finding.message


def test_only_the_steady_window_counts(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    [finding] = judge(intervals, targets, "Scatter", phases(500 * US, 500 * US))
    assert "5 pieces" in finding.message


def test_a_fused_write_is_no_encoder_of_its_own(intervals: Make, targets: pd.DataFrame) -> None:
    assert not judge(intervals, targets, "rope_scatter_paged")


def test_rare_writes_are_passed(intervals: Make, targets: pd.DataFrame) -> None:
    frame = intervals([(0, 10 * US), (10 * US, 990 * US)])
    frame["label"] = pd.array(["Scatter", "Matmul"], dtype="string")
    assert not list(RULES["scatter-encoder"].judge(frame, targets, None, None))


def test_a_window_of_no_length_is_no_measure(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="has no length"):
        list(RULES["scatter-encoder"].judge(intervals([(3, 0)]), targets, None, None))
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(RULES["scatter-encoder"].judge(intervals([(3, 1)], clock="host"), targets, None, None))
