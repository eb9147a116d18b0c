"""`below-ceiling`: tokens per second against what the kernels alone would give."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from counter_runs import MS, findings, given, measured, steady
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity

Make = Callable[..., pd.DataFrame]
RULE = "below-ceiling"


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    """Ten steps of 1 ms with 16 tokens; in each the device runs for so long."""

    def make(ran: int, clock: str = "gpu", **tables: pd.DataFrame) -> Any:
        work = intervals([(number * MS, ran) for number in range(10)], clock=clock)
        return given(gpu_intervals=work, **{**steady(), **tables})

    return make


@pytest.mark.parametrize(("clock", "device"), [("gpu", "GPU"), ("host", "CPU backend")])
def test_the_distance_is_reported_in_tokens_per_second(
    clock: str, device: str, known: Make
) -> None:
    run = known(500_000, clock)
    [finding] = findings(RULE, run)
    assert finding.message == (
        f"16,000 tokens/s, which is 50.0 % of the 32,000 tokens/s that the {device} makes while it "
        "runs."
    )
    assert finding.severity is Severity.NOTE
    assert finding.saving is None
    assert len(finding.evidence) == 10
    assert measured("kernel_ceiling", run).value == pytest.approx(32_000)


def test_small_gaps_are_no_distance(known: Make) -> None:
    assert not findings(RULE, known(800_000))
    assert findings(RULE, known(800_000), limit=0.9)


def test_time_without_load_does_not_count(known: Make) -> None:
    idle = pd.DataFrame(
        {
            "start": [number * MS + 500_000 for number in range(10)],
            "duration": pd.array([480_000] * 10, dtype="Int64"),
            "name": pd.array(["idle"] * 10, dtype="string"),
        }
    )
    assert not findings(RULE, known(500_000, spans=idle))


def test_the_device_counts_only_while_it_ran_for_the_target(intervals: Make) -> None:
    others = [(number * MS, MS) for number in range(10)]
    work = intervals([(number * MS, MS // 4) for number in range(10)], others)
    run = given(gpu_intervals=work, **steady())
    assert measured("kernel_ceiling", run).value == pytest.approx(64_000)
    assert findings(RULE, run)


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        (steady(tokens=0), "produces no tokens"),
        ({"steps": pd.concat([steady(variant=one)["steps"] for one in "ab"])}, "several variants"),
    ],
)
def test_without_tokens_of_one_kind_it_abstains(
    tables: dict[str, pd.DataFrame], reason: str, known: Make
) -> None:
    with pytest.raises(Unavailable, match=reason):
        findings(RULE, known(500_000, **tables))
    assert reason in measured("kernel_ceiling", known(500_000, **tables)).reason


def test_work_outside_of_the_steady_phase_is_no_ceiling(intervals: Make) -> None:
    before = given(gpu_intervals=intervals([(20 * MS, MS)]), **steady())
    with pytest.raises(Unavailable, match="of the steady steps have no interval of the target"):
        findings(RULE, before)
