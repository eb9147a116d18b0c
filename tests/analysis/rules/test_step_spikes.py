"""`step-spikes`: a few steps far longer than their neighbours."""

import numpy as np
import pandas as pd
import pytest

from analysed import NO_HAPPENINGS, row_of_steps
from tracekit.analysis.rhythm import happenings
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.analysis.rules import RULES

MS = 1_000_000


def judge(steps: pd.DataFrame, beside: pd.DataFrame, **limits: float) -> list[Finding]:
    return list(RULES["step-spikes"].judge(steps, None, beside, None, **limits))


def with_spikes(*places: int, times: int = 5, number: int = 100) -> list[int]:
    return [10 * MS * (times if place in places else 1) for place in range(number)]


def test_what_spikes_take_beyond_their_neighbours_is_the_saving() -> None:
    [finding] = judge(row_of_steps(with_spikes(30, 60)), NO_HAPPENINGS)
    assert finding.severity is Severity.WARNING
    assert finding.saving == 80 * MS
    assert "2 of 99 steady steps take far longer" in finding.message
    assert "up to 50 ms where 10 ms is usual, 80 ms too much in all" in finding.message
    assert finding.evidence == (
        Evidence("steps", 300 * MS, 350 * MS),
        Evidence("steps", 640 * MS, 690 * MS),
    )


def test_the_cause_stands_at_each_spike_and_compiles_are_not_saved_twice() -> None:
    compiled = pd.DataFrame(
        {"start": [305 * MS], "duration": pd.array([30 * MS], dtype="Int64"), "target": True}
    )
    beside = happenings(None, compiled, None, None, None, None)
    [finding] = judge(row_of_steps(with_spikes(30, 60)), beside)
    assert [one.note for one in finding.evidence] == ["shaders were compiled", ""]
    assert finding.saving == 50 * MS


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(with_spikes(), id="even"),
        pytest.param(with_spikes(30, number=1_000), id="too little time"),
        pytest.param([10 * MS, 50 * MS] * 50, id="alternating"),
        pytest.param(with_spikes(*range(0, 100, 5)), id="too many"),
        pytest.param([10 * MS] * 50 + [50 * MS] * 50, id="a lasting change"),
        pytest.param([MS * step for step in range(10, 110)], id="a drift"),
    ],
)
def test_it_is_silent_where_no_few_steps_stand_out(times: list[int]) -> None:
    assert not judge(row_of_steps(times), NO_HAPPENINGS)


def test_noise_is_no_spike() -> None:
    random = np.random.default_rng(11)
    for spread in (0.02, 0.1, 0.3):
        times = random.lognormal(np.log(10 * MS), spread, 500).astype(np.int64)
        assert not judge(row_of_steps(times.tolist()), NO_HAPPENINGS)


def test_thresholds_can_be_set() -> None:
    steps = row_of_steps(with_spikes(30, number=1_000))
    assert judge(steps, NO_HAPPENINGS, limit=0.001)
    assert not judge(steps, NO_HAPPENINGS, limit=0.001, least_excess=5.0)


def test_each_variant_is_judged_by_itself() -> None:
    times = [10 * MS, 60 * MS] * 50
    assert not judge(row_of_steps(times, ("paged", "sdpa")), NO_HAPPENINGS)
    times[40] = 60 * MS
    [finding] = judge(row_of_steps(times, ("paged", "sdpa")), NO_HAPPENINGS)
    assert "1 of 50 steady steps of paged takes far longer" in finding.message
