"""`irregular-cadence`: steps without an even rhythm."""

import numpy as np
import pandas as pd
import pytest

from analysed import NO_HAPPENINGS, row_of_steps
from tracekit.analysis.rhythm import happenings
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES

MS = 1_000_000


def judge(steps: pd.DataFrame, beside: pd.DataFrame, **limits: float) -> list[Finding]:
    return list(RULES["irregular-cadence"].judge(steps, None, beside, None, **limits))


def noisy(spread: float, number: int = 400, seed: int = 5) -> list[int]:
    random = np.random.default_rng(seed)
    return random.lognormal(np.log(10 * MS), spread, number).astype(np.int64).tolist()


def test_two_speeds_are_found_and_what_the_slow_one_costs() -> None:
    [finding] = judge(row_of_steps([10 * MS, 14 * MS] * 50 + [10 * MS]), NO_HAPPENINGS)
    assert finding.severity is Severity.WARNING
    assert "swing between two speeds: 10 ms and 14 ms; 50.0 % are slow" in finding.message
    assert "changed 99 times in 100 steps" in finding.message
    assert finding.saving == 50 * 4 * MS
    assert len(finding.evidence) == 20
    assert all(one.end - one.start == 14 * MS for one in finding.evidence)


def test_two_speeds_need_not_take_turns_evenly() -> None:
    assert not judge(row_of_steps([10 * MS] * 4 + [20 * MS] + [10 * MS] * 45), NO_HAPPENINGS)
    [found] = judge(row_of_steps(([10 * MS] * 4 + [20 * MS]) * 10 + [10 * MS]), NO_HAPPENINGS)
    assert "20.0 % are slow" in found.message


def test_what_explains_the_slow_steps_is_said() -> None:
    steps = row_of_steps([10 * MS, 14 * MS] * 50 + [10 * MS])
    slow = steps["start"].to_numpy()[1::2]
    logged = pd.DataFrame({"start": slow, "duration": 3 * MS, "name": "log"})
    [finding] = judge(steps, happenings(None, None, None, None, None, logged))
    assert "What explains all of them: the workload was in its span “log”." in finding.message
    assert finding.saving == 50 * 4 * MS
    compiled = logged.assign(name="compile")
    [other] = judge(steps, happenings(None, None, None, None, None, compiled))
    assert other.saving == 50 * MS


def test_broad_noise_is_uneven() -> None:
    [finding] = judge(row_of_steps(noisy(0.4)), NO_HAPPENINGS)
    assert "come unevenly: one differs from the next by 3" in finding.message
    assert finding.saving is None


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.1])
def test_usual_noise_is_silent(spread: float) -> None:
    for seed in range(20):
        assert not judge(row_of_steps(noisy(spread, 60, seed)), NO_HAPPENINGS)


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([10 * MS] * 50, id="even"),
        pytest.param([10 * MS] * 30 + [20 * MS] * 30, id="one change"),
        pytest.param([10 * MS + step * 100_000 for step in range(200)], id="a drift"),
        pytest.param([100 * MS if s in {20, 60} else 10 * MS for s in range(90)], id="outliers"),
        pytest.param([10 * MS, 11 * MS] * 40, id="a small swing"),
    ],
)
def test_it_is_silent_on(times: list[int]) -> None:
    assert not judge(row_of_steps(times), NO_HAPPENINGS)


def test_few_steps_must_differ_more() -> None:
    [finding] = judge(row_of_steps(noisy(0.22, 4_000)), NO_HAPPENINGS)
    assert "unevenly" in finding.message
    assert not judge(row_of_steps(noisy(0.22, 17)), NO_HAPPENINGS)
