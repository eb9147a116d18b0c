"""`memory-bound`: memory near its limit, arithmetic far from it."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

from counter_runs import MS, findings, given, model, samples, steady
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity

Make = Callable[..., pd.DataFrame]
RULE = "memory-bound"
BOUND = {"LLC Limiter": 85.0, "ALU Utilization": 20.0}


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    def make(values: Mapping[str, float], **others: pd.DataFrame) -> Any:
        work = intervals([(0, 20 * MS)])
        return given(gpu_counters=samples(values), gpu_intervals=work, **others)

    return make


@pytest.mark.parametrize(
    "memory",
    [
        {"LLC Limiter": 85.0},
        {"L1 Cache Limiter": 85.0},
        {"GPU Read Bandwidth": 80.0, "GPU Write Bandwidth": 5.0},
    ],
)
def test_it_is_found_by_caches_and_by_bandwidth(memory: dict[str, float], known: Make) -> None:
    [finding] = findings(RULE, known({**memory, "ALU Limiter": 20.0}))
    assert finding.severity is Severity.WARNING
    assert "was 85.0 % while ALU Limiter was 20.0 %" in finding.message
    assert "BLOCK_SIZE" in finding.advice
    assert "half4" in finding.advice
    assert len(finding.evidence) == 8
    assert finding.saving is None


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"LLC Limiter": 69.0, "ALU Limiter": 20.0}, id="memory-has-time"),
        pytest.param({"LLC Limiter": 85.0, "F32 Limiter": 50.0}, id="arithmetic-is-busy-too"),
        pytest.param({**BOUND, "MMU Limiter": 95.1}, id="another-unit-stands-out"),
    ],
)
def test_what_is_balanced_or_bound_elsewhere_passes(values: dict[str, float], known: Make) -> None:
    assert not findings(RULE, known(values))


def test_another_unit_that_is_loaded_alike_does_not_hide_it(known: Make) -> None:
    assert findings(RULE, known({**BOUND, "MMU Limiter": 94.0}))


def test_at_the_roof_it_is_good_news(known: Make) -> None:
    # 280 MB in each step of 1 ms are 70 % of 400 GB/s.
    [finding] = findings(RULE, known(BOUND, step_models=model(280_000_000), **steady(count=20)))
    assert finding.severity is Severity.NOTE
    assert "reached 70.0 % of the 400 GB/s" in finding.message
    assert "only fewer bytes" in finding.advice


def test_far_from_the_roof_bytes_are_read_that_need_not_be(known: Make) -> None:
    [finding] = findings(RULE, known(BOUND, step_models=model(100_000_000), **steady(count=20)))
    assert finding.severity is Severity.WARNING
    assert "reached 25.0 %" in finding.message


@pytest.mark.parametrize("lacking", ["LLC Limiter", "ALU Utilization"])
def test_without_both_sides_it_abstains(lacking: str, known: Make) -> None:
    rest = {name: value for name, value in BOUND.items() if name != lacking}
    with pytest.raises(Unavailable, match="--counters on"):
        findings(RULE, known(rest))


def test_it_abstains_on_a_cpu(intervals: Make) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        findings(RULE, given(gpu_intervals=intervals([(0, MS)], clock="host")))
