"""`roofline-distance`: the GPU runs longer than its bytes need."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from counter_runs import M1_MAX, MS, findings, given, model, steady
from tracekit.analysis.inject import Unavailable

Make = Callable[..., pd.DataFrame]
RULE = "roofline-distance"


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    """Ten steps of 1 ms, in each of which the GPU runs for half of the time."""

    def make(
        moved: int,
        flops: int | None = None,
        labels: tuple[str, ...] = ("paged",),
        **others: pd.DataFrame,
    ) -> Any:
        work = intervals([(number * MS // 2, MS // 4) for number in range(20)])
        work["label"] = pd.array([labels[n % len(labels)] for n in range(20)], dtype="string")
        return given(
            M1_MAX, gpu_intervals=work, step_models=model(moved, flops), **steady(), **others
        )

    return make


def test_the_saving_is_the_time_above_what_can_be_had(known: Make) -> None:
    # 40 MB in 0.5 ms are 80 GB/s, 20 % of 400; at 320 GB/s they take 0.125 ms.
    [finding] = findings(RULE, known(40_000_000))
    assert "reached 20.0 % of the 400 GB/s of Apple M1 Max" in finding.message
    assert "ran for 5 ms, and their bytes need 1.25 ms at 80.0 % of it" in finding.message
    assert finding.saving == 3_750_000
    assert finding.evidence[0].table == "gpu_intervals"


def test_what_gathers_and_scatters_is_left_to_its_own_rules(known: Make) -> None:
    [finding] = findings(RULE, known(40_000_000, labels=("paged_decode", "Gather")))
    assert finding.saving == 1_250_000


@pytest.mark.parametrize(
    ("moved", "flops"),
    [
        pytest.param(101_000_000, None, id="half-of-the-bandwidth"),
        pytest.param(10_000_000, 300_000_000, id="bound-by-arithmetic"),
    ],
)
def test_kernels_near_their_roof_pass(moved: int, flops: int | None, known: Make) -> None:
    assert not findings(RULE, known(moved, flops))


def test_a_servers_steps_are_not_judged(known: Make) -> None:
    served = pd.DataFrame({"time": [MS], "request": [1]})
    with pytest.raises(Unavailable, match="some prefill prompts"):
        findings(RULE, known(40_000_000, requests=served))


@pytest.mark.parametrize(
    ("moved", "flops", "reason"),
    [(210_000_000, None, "cache-resident"), (10_000_000, 0, "how many operations a step takes")],
)
def test_what_cannot_be_judged_says_why(
    moved: int, flops: int | None, reason: str, known: Make
) -> None:
    with pytest.raises(Unavailable, match=reason):
        findings(RULE, known(moved, flops))


def test_a_limit_may_be_set(known: Make) -> None:
    assert findings(RULE, known(120_000_000), limit=0.7)


def test_it_abstains_on_a_cpu(intervals: Make) -> None:
    work = intervals([(0, MS)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        findings(RULE, given(gpu_intervals=work, step_models=model(1), **steady()))
