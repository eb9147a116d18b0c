"""`other-limiter`: a unit that is neither arithmetic nor memory stands out."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

from counter_runs import MS, findings, given, samples
from tracekit.analysis.counters import OTHERS, Group
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rules.other_limiter import CANDIDATES

Make = Callable[..., pd.DataFrame]
RULE = "other-limiter"


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    def make(values: Mapping[str, float]) -> Any:
        return given(gpu_counters=samples(values), gpu_intervals=intervals([(0, 20 * MS)]))

    return make


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        ("TG/IB Load Limiter", "threadgroup memory"),
        ("Buffer Read Limiter", "fewer and wider accesses"),
        ("MMU Limiter", "pages of a sequence next to each other"),
        ("Control Flow Limiter", "fewer branches"),
        ("Instruction Throughput Limiter", "fewer instructions"),
        ("Compute Shader Launch Limiter", "more work for each thread"),
        ("Texture Write Limiter", "who uses textures"),
        ("Fragment Interp Limiter", "who draws"),
    ],
)
def test_each_unit_has_its_candidates(name: str, candidate: str, known: Make) -> None:
    [finding] = findings(RULE, known({name: 88.0, "ALU Limiter": 40.0, "LLC Limiter": 30.0}))
    assert finding.message == (
        f"{name} was 88.0 %, more than arithmetic and memory "
        "(ALU Limiter was 40.0 %, LLC Limiter was 30.0 %)."
    )
    assert candidate in finding.advice
    assert finding.evidence[0].note == f"{name} 88.0 %"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"MMU Limiter": 69.0, "ALU Limiter": 10.0}, id="far-from-its-limit"),
        pytest.param({"MMU Limiter": 95.0, "ALU Limiter": 86.0}, id="arithmetic-is-as-near"),
        pytest.param(
            {"Instruction Throughput Limiter": 99.8, "F32 Limiter": 91.9}, id="goes-with-arithmetic"
        ),
        pytest.param({"MMU Limiter": 90.0, "GPU Read Bandwidth": 81.0}, id="memory-is-as-near"),
        pytest.param({"MMU Utilization": 99.0, "TG/IB Load Limiter": 5.0}, id="no-limiter"),
    ],
)
def test_what_does_not_stand_out_passes(values: dict[str, float], known: Make) -> None:
    assert not findings(RULE, known(values))


def test_without_such_a_limiter_it_abstains(known: Make) -> None:
    with pytest.raises(Unavailable, match="no limiter beside arithmetic and memory"):
        findings(RULE, known({"ALU Limiter": 40.0}))


def test_every_group_that_may_be_found_has_its_advice() -> None:
    assert set(CANDIDATES) == set(OTHERS)
    assert Group.ARITHMETIC not in CANDIDATES
