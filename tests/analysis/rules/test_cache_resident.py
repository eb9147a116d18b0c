"""`cache-resident`: faster than memory, or small enough for any cache."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from counter_runs import M1_MAX, MS, findings, given, model, steady
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity

Make = Callable[..., pd.DataFrame]
RULE = "cache-resident"


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    """Ten steps; in each the GPU runs for so long."""

    def make(moved: int, ran: int = MS // 2) -> Any:
        work = intervals([(number * MS, ran) for number in range(10)])
        return given(M1_MAX, gpu_intervals=work, step_models=model(moved), **steady())

    return make


def test_more_than_memory_delivers_is_an_error(known: Make) -> None:
    [finding] = findings(RULE, known(300_000_000))
    assert finding.severity is Severity.ERROR
    assert "moved 600 GB/s" in finding.message
    assert "more than the 400 GB/s that the memory of Apple M1 Max delivers" in finding.message
    assert "pages of its own for every sequence" in finding.advice
    assert len(finding.evidence) == 10
    assert finding.saving is None


def test_a_little_more_is_within_the_error_of_the_clock(known: Make) -> None:
    assert not findings(RULE, known(205_000_000))


def test_little_data_at_the_speed_of_memory_may_be_a_caches(known: Make) -> None:
    [finding] = findings(RULE, known(6_000_000, ran=20_000))  # 300 GB/s
    assert finding.severity is Severity.NOTE
    assert "5.72 MiB fit into the last-level cache" in finding.message


@pytest.mark.parametrize(
    ("moved", "ran"),
    [
        pytest.param(6_000_000, 200_000, id="little-and-slow"),
        pytest.param(67_000_000, 240_000, id="much-and-fast"),
    ],
)
def test_other_work_passes(moved: int, ran: int, known: Make) -> None:
    assert not findings(RULE, known(moved, ran))


def test_a_cut_capture_is_not_taken_for_speed(intervals: Make) -> None:
    work = intervals([(0, MS // 2)])
    with pytest.raises(Unavailable, match="does not show all of their work"):
        findings(RULE, given(gpu_intervals=work, step_models=model(100_000_000), **steady()))
