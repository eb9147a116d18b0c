"""`roofline-distance` and `cache-resident`: bytes of steps over the time in which the GPU ran."""

from typing import Any

import pandas as pd
import pytest

from analysed import intervals
from counter_runs import M1_MAX, MS, findings, given, model, steady
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity

DISTANCE, RESIDENT = "roofline-distance", "cache-resident"


def known(
    moved: int,
    flops: int | None = None,
    ran: int = MS // 2,
    labels: tuple[str, ...] = ("paged",),
    **others: pd.DataFrame,
) -> Any:
    """Ten steps of 1 ms, in each of which the GPU runs for so long, by half of the time."""
    work = intervals([(number * MS // 2, ran // 2) for number in range(20)])
    work["label"] = pd.array([labels[n % len(labels)] for n in range(20)], dtype="string")
    tables = {"gpu_intervals": work, "step_models": model(moved, flops), **steady()}
    return given(M1_MAX, **tables, **others)


def test_the_saving_is_the_time_above_what_can_be_had() -> None:
    [finding] = findings(DISTANCE, known(40_000_000))
    assert "reached 20.0 % of the 400 GB/s of Apple M1 Max" in finding.message
    assert "ran for 5 ms, and their bytes need 1.25 ms at 80.0 % of it" in finding.message
    assert finding.saving == 3_750_000
    assert finding.evidence[0].table == "gpu_intervals"
    # What gathers and scatters is left to its own rules.
    [finding] = findings(DISTANCE, known(40_000_000, labels=("paged_decode", "Gather")))
    assert finding.saving == 1_250_000
    assert findings(DISTANCE, known(120_000_000), limit=0.7)


def test_more_than_memory_delivers_is_an_error() -> None:
    [finding] = findings(RESIDENT, known(300_000_000))
    assert finding.severity is Severity.ERROR
    assert "moved 600 GB/s" in finding.message
    assert "more than the 400 GB/s that the memory of Apple M1 Max delivers" in finding.message
    assert "pages of its own for every sequence" in finding.advice
    assert len(finding.evidence) == 20
    [finding] = findings(RESIDENT, known(6_000_000, ran=20_000))  # 300 GB/s
    assert finding.severity is Severity.NOTE
    assert "5.72 MiB fit into the last-level cache" in finding.message


@pytest.mark.parametrize(
    ("rule", "moved", "flops", "ran"),
    [
        (DISTANCE, 101_000_000, None, MS // 2),  # half of the bandwidth
        (DISTANCE, 10_000_000, 300_000_000, MS // 2),  # bound by arithmetic
        (RESIDENT, 205_000_000, None, MS // 2),  # within the error of the clock
        (RESIDENT, 6_000_000, None, 200_000),  # little and slow
        (RESIDENT, 67_000_000, None, 240_000),  # much and fast
    ],
)
def test_other_work_passes(rule: str, moved: int, flops: int | None, ran: int) -> None:
    assert not findings(rule, known(moved, flops, ran))


SERVED = {"requests": pd.DataFrame({"time": [MS], "request": [1]})}


@pytest.mark.parametrize(
    ("moved", "flops", "others", "reason"),
    [
        (210_000_000, None, {}, "cache-resident"),
        (10_000_000, 0, {}, "how many operations a step takes"),
        (40_000_000, None, SERVED, "some prefill prompts"),
    ],
)
def test_what_cannot_be_judged_says_why(
    moved: int, flops: int | None, others: dict[str, pd.DataFrame], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        findings(DISTANCE, known(moved, flops, **others))


@pytest.mark.parametrize("rule", [DISTANCE, RESIDENT])
def test_a_cut_capture_is_not_taken_for_speed(rule: str) -> None:
    tables = {"gpu_intervals": intervals([(0, MS // 2)]), **steady()}
    with pytest.raises(Unavailable, match="does not show all of their work"):
        findings(rule, given(step_models=model(100_000_000), **tables))
