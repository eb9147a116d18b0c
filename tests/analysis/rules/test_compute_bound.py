"""`compute-bound`: arithmetic near its limit, memory far from it."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

from counter_runs import M1_MAX, MS, findings, given, model, samples, steady
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity

Make = Callable[..., pd.DataFrame]
RULE = "compute-bound"
BOUND = {"F32 Limiter": 92.0, "ALU Limiter": 49.0, "LLC Limiter": 30.0}


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    def make(values: Mapping[str, float], **others: pd.DataFrame) -> Any:
        work = intervals([(0, 20 * MS)])
        return given(M1_MAX, gpu_counters=samples(values), gpu_intervals=work, **others)

    return make


def test_the_highest_counter_of_arithmetic_is_named(known: Make) -> None:
    [finding] = findings(RULE, known(BOUND))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("F32 Limiter was 92.0 % while LLC Limiter was 30.0 %")
    assert finding.evidence[0].note == "F32 Limiter 92.0 %"
    assert "reductions across a simdgroup" in finding.advice


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"F32 Limiter": 69.0, "LLC Limiter": 30.0}, id="arithmetic-has-time"),
        pytest.param({"F32 Limiter": 92.0, "LLC Limiter": 57.0}, id="memory-is-busy-too"),
        pytest.param({"F32 Limiter": 80.0, "LLC Limiter": 30.0, "MMU Limiter": 91.0}, id="other"),
    ],
)
def test_what_is_balanced_or_bound_elsewhere_passes(values: dict[str, float], known: Make) -> None:
    assert not findings(RULE, known(values))


def test_for_steps_with_many_operations_a_byte_it_is_their_nature(known: Make) -> None:
    heavy = model(10_000_000, flops=2_000_000_000)  # 200 operations a byte, an M1 Max has 26.5
    [finding] = findings(RULE, known(BOUND, step_models=heavy, **steady(count=20)))
    assert finding.severity is Severity.NOTE
    assert "200 operations for each byte, which would make arithmetic the limit" in finding.message


def test_for_decoding_it_is_work_that_need_not_be(known: Make) -> None:
    [finding] = findings(RULE, known(BOUND, step_models=model(10_000_000), **steady(count=20)))
    assert finding.severity is Severity.WARNING
    assert "2 operations for each byte, which would make memory the limit" in finding.message


def test_bytes_without_operations_let_expect_nothing(known: Make) -> None:
    copied = model(10_000_000, flops=0)
    [finding] = findings(RULE, known(BOUND, step_models=copied, **steady(count=20)))
    assert finding.message.endswith("arithmetic bounds the work.")


def test_without_both_sides_it_abstains(known: Make) -> None:
    with pytest.raises(Unavailable, match="of memory was recorded, only: F32 Limiter"):
        findings(RULE, known({"F32 Limiter": 92.0}))
