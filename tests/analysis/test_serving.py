"""What requests, ticks and levels come to, from literal tables."""

import inspect

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis import serving
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.metrics import METRICS

MS = 1_000_000

REQUESTS = pd.DataFrame(
    {
        "start": [0, 10 * MS, 20 * MS, 30 * MS, 40 * MS],
        "number": [0, 1, 2, 3, 4],
        "state": ["completed", "completed", "unfinished", "rejected", "completed"],
        "first_token": pd.array([10 * MS, 30 * MS, 50 * MS, None, 20 * MS], dtype="Int64"),
        "last_token": pd.array([30 * MS, 40 * MS, 60 * MS, None, 20 * MS], dtype="Int64"),
        "produced": pd.array([3, 2, 2, 0, 1], dtype="Int64"),
    }
)
TOKENS = pd.DataFrame(
    {
        "time": [10 * MS, 22 * MS, 30 * MS, 40 * MS, 50 * MS, 70 * MS, 80 * MS, 60 * MS],
        "request": [0, 0, 0, 1, 1, 2, 2, 4],
        "index": [0, 1, 2, 0, 1, 0, 1, 0],
    }
)
STEPS = pd.DataFrame(
    {
        "start": [-5 * MS, 0, 10 * MS, 20 * MS, 30 * MS, 60 * MS],
        "duration": pd.array([5 * MS, 10 * MS, 10 * MS, 5 * MS, 30 * MS, 10 * MS], dtype="Int64"),
        "phase": ["warm-up", "steady", "steady", "steady", "steady", "steady"],
        "tokens": pd.array([9, 1, 4, 3, 0, 2], dtype="Int64"),
        "variant": ["", "", "", "", "idle", ""],
    }
)


def levels(**series: list[tuple[int, float]]) -> pd.DataFrame:
    rows = [(at, name, value) for name, values in series.items() for at, value in values]
    return pd.DataFrame(rows, columns=["time", "name", "value"])


GAUGES = levels(
    limit_active_sequences=[(0, 5.0)],
    limit_blocks=[(0, 20.0)],
    active_sequences=[(1 * MS, 2.0), (11 * MS, 4.0), (31 * MS, 0.0), (61 * MS, 3.0)],
    used_blocks=[(1 * MS, 10.0), (11 * MS, 16.0), (31 * MS, 0.0), (61 * MS, 4.0)],
    queued_requests=[(1 * MS, 0.0), (11 * MS, 3.0), (21 * MS, 0.0)],
)
NO_REQUESTS = REQUESTS.iloc[:0]


def test_the_first_token_counts_for_all_who_got_one() -> None:
    assert serving.first_token_times(REQUESTS).tolist() == [10e6, 30e6, 50e6, 20e6]


def test_time_per_token_is_of_completed_requests_with_more_than_one() -> None:
    assert serving.times_per_token(REQUESTS).tolist() == [10e6, 10e6]


def test_gaps_between_tokens_never_lie_between_two_requests() -> None:
    expected = [12e6, 8e6, 10e6, 10e6]
    assert serving.gaps_between_tokens(REQUESTS, TOKENS).tolist() == expected
    shuffled = TOKENS.sample(frac=1, random_state=1)
    assert serving.gaps_between_tokens(REQUESTS, shuffled).tolist() == expected


def test_the_whole_time_is_of_completed_requests() -> None:
    assert serving.whole_times(REQUESTS).tolist() == [30e6, 40e6, 20e6]


def test_statistics_are_those_of_numpy() -> None:
    values = np.array([3.5, 1.0, 8.25, 2.0])
    assert serving.mean(values) == values.mean()
    assert serving.deviation(values) == pytest.approx(values.std(), rel=1e-15)
    assert serving.percentile(values, 95) == np.quantile(values, 0.95)


def test_a_level_holds_until_it_is_reported_again() -> None:
    moments = np.array([0, 1 * MS, 10 * MS, 11 * MS, 30 * MS, 99 * MS])
    assert serving.level_at(GAUGES, "active_sequences", moments).tolist() == [0, 2, 2, 4, 4, 3]


def test_levels_are_weighted_by_their_time() -> None:
    window = Window(0, 10 * MS)
    gauges = levels(used_blocks=[(2 * MS, 10.0), (6 * MS, 20.0), (50 * MS, 99.0)])
    assert serving.time_weighted(gauges, "used_blocks", window) == 12.0


def test_steady_runs_from_the_first_to_the_last_busy_tick() -> None:
    found = serving.parts(STEPS, GAUGES)
    windows = {name: (one.window.start, one.window.end) for name, one in found.items()}
    assert windows == {
        "ramp": (0, 10 * MS),
        "steady": (10 * MS, 25 * MS),
        "tail": (25 * MS, 70 * MS),
    }
    assert [(one.ticks, one.tokens) for one in found.values()] == [(1, 1), (2, 7), (1, 2)]
    assert [one.rate for one in found.values()] == [100.0, 500.0, 200.0]


def test_ticks_between_two_busy_ones_are_steady_however_idle() -> None:
    gauges = levels(
        limit_active_sequences=[(0, 5.0)],
        active_sequences=[(1 * MS, 5.0), (11 * MS, 1.0), (61 * MS, 4.0)],
    )
    found = serving.parts(STEPS, gauges)
    assert (found["ramp"].ticks, found["ramp"].rate) == (0, None)
    assert (found["steady"].ticks, found["tail"].window.length) == (4, 0)


def test_a_server_that_was_never_busy_has_no_steady_part() -> None:
    gauges = levels(limit_active_sequences=[(0, 9.0)], active_sequences=[(1 * MS, 3.0)])
    with pytest.raises(
        Unavailable, match="at most 3 of 9 slots were taken, and steady begins at 80"
    ):
        serving.parts(STEPS, gauges)


def test_without_the_number_of_slots_there_are_no_parts() -> None:
    with pytest.raises(Unavailable, match="does not tell how many sequences"):
        serving.parts(STEPS, levels(active_sequences=[(0, 1.0)]))


def test_a_wait_for_load_is_no_tick() -> None:
    assert serving.ticks_of(STEPS)["start"].tolist() == [0, 10 * MS, 20 * MS, 60 * MS]
    assert METRICS["step_p50"].measure(STEPS) == 10 * MS
    assert METRICS["step_rate"].measure(STEPS, None) == pytest.approx(4 / 0.070)


def test_a_server_that_only_waited_made_no_tick() -> None:
    with pytest.raises(Unavailable, match="made no tick"):
        serving.ticks_of(STEPS[STEPS["variant"] == "idle"])


def test_rates_of_requests() -> None:
    assert METRICS["request_rate_offered"].measure(REQUESTS, STEPS) == 125.0
    assert METRICS["request_rate_served"].measure(REQUESTS, STEPS) == 3e9 / (70 * MS)


@pytest.mark.parametrize(
    ("limits", "good"),
    [
        ({"limit_ttft": 10.0}, 1),
        ({"limit_ttft": 30.0}, 3),
        ({"limit_tpot": 9.9}, 1),
        ({"limit_tpot": 10.0, "limit_ttft": 20.0}, 2),
        ({"limit_tpot": 0.0, "limit_ttft": 0.0}, 0),
    ],
)
def test_goodput_counts_who_is_within_all_limits(limits: dict[str, float], good: int) -> None:
    gauges = levels(**{name: [(0, value * MS)] for name, value in limits.items()})
    assert METRICS["slo_attainment"].measure(REQUESTS, gauges) == good / 5
    assert METRICS["goodput"].measure(REQUESTS, gauges, STEPS) == good * 1e9 / (70 * MS)


def test_every_request_counts_as_what_became_of_it() -> None:
    names = ("requests_completed", "requests_unfinished", "requests_rejected")
    assert [METRICS[name].measure(REQUESTS) for name in names] == [3, 1, 1]


def test_nothing_demanded_is_no_goodput() -> None:
    with pytest.raises(Unavailable, match="neither --slo-ttft nor --slo-tpot was given"):
        METRICS["goodput"].measure(REQUESTS, GAUGES, STEPS)


def test_parts_spikes_and_occupancy_are_metrics() -> None:
    measured = {
        name: METRICS[name].measure(REQUESTS, STEPS, GAUGES)
        for name in ("steady_token_rate", "ramp_time", "steady_time", "tail_time")
    }
    assert list(measured.values()) == [500.0, 10 * MS, 15 * MS, 45 * MS]
    slow = pd.concat([GAUGES, levels(limit_tick=[(0, 9.0 * MS)])])
    assert METRICS["tick_spikes"].measure(REQUESTS, STEPS, slow) == 3
    assert METRICS["block_occupancy_peak"].measure(REQUESTS, GAUGES) == 0.8
    assert METRICS["queue_peak"].measure(REQUESTS, GAUGES) == 3
    weighted = (10 * 10 + 16 * 20 + 4 * 9) / 70 / 20
    occupancy = METRICS["block_occupancy_mean"].measure(REQUESTS, GAUGES, STEPS)
    assert occupancy == pytest.approx(weighted)


@pytest.mark.parametrize(
    "name", [name for name, one in METRICS.items() if one.measure.__module__.endswith("server")]
)
def test_a_workload_without_requests_has_none_of_the_numbers(name: str) -> None:
    tables = {
        "requests": NO_REQUESTS,
        "request_tokens": TOKENS.iloc[:0],
        "gauges": GAUGES.iloc[:0],
        "steps": STEPS,
    }
    asked = inspect.signature(METRICS[name].measure).parameters
    with pytest.raises(Unavailable, match="the workload serves no requests"):
        METRICS[name].measure(*(tables[one] for one in asked))


@pytest.mark.parametrize(
    "name",
    ["steady_token_rate", "ramp_time", "tick_spikes", "block_occupancy_mean"],
)
def test_nor_those_of_its_run(name: str) -> None:
    with pytest.raises(Unavailable, match="the workload serves no requests"):
        METRICS[name].measure(requests=NO_REQUESTS, steps=STEPS, gauges=GAUGES)


def test_a_server_that_answered_nobody_says_so() -> None:
    waiting = REQUESTS.assign(
        state="unfinished",
        first_token=pd.array([None] * 5, dtype="Int64"),
        last_token=pd.array([None] * 5, dtype="Int64"),
    )
    with pytest.raises(Unavailable, match="no request got a token"):
        serving.first_token_times(waiting)
    with pytest.raises(Unavailable, match="no request was completed"):
        serving.whole_times(waiting)
    with pytest.raises(Unavailable, match="no request has more than one token"):
        serving.gaps_between_tokens(waiting, TOKENS.iloc[:0])
