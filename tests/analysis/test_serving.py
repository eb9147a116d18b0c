"""What requests, ticks and levels come to, from literal tables."""

import math

import pandas as pd
import pytest

from analysed import MS, measure_tables, table
from tracekit.analysis import serving
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

REQUESTS = table(
    "start number state first_token last_token produced",
    (0, 0, "completed", 10, 30, 3),
    (10, 1, "completed", 30, 40, 2),
    (20, 2, "unfinished", 50, 60, 2),
    (30, 3, "rejected", None, None, 0),
    (40, 4, "completed", 20, 20, 1),
)
TOKENS = table(
    "time request index",
    *((10, 0, 0), (22, 0, 1), (30, 0, 2), (40, 1, 0), (50, 1, 1)),
    *((70, 2, 0), (80, 2, 1), (60, 4, 0)),
)
STEPS = table(
    "start duration phase tokens variant",
    *((-5, 5, "warm-up", 9, ""), (0, 10, "steady", 1, ""), (10, 10, "steady", 4, "")),
    *((20, 5, "steady", 3, ""), (30, 30, "steady", 0, "idle"), (60, 10, "steady", 2, "")),
)


def levels(**series: list[tuple[int, float]]) -> pd.DataFrame:
    rows = [(time, name, value) for name, values in series.items() for time, value in values]
    return pd.DataFrame(rows, columns=["time", "name", "value"])


GAUGES = levels(
    limit_active_sequences=[(0, 5.0)],
    limit_blocks=[(0, 20.0)],
    active_sequences=[(1 * MS, 2.0), (20 * MS, 4.0), (31 * MS, 0.0), (61 * MS, 3.0)],
    used_blocks=[(1 * MS, 10.0), (11 * MS, 16.0), (31 * MS, 0.0), (61 * MS, 4.0)],
    queued_requests=[(1 * MS, 0.0), (11 * MS, 3.0), (21 * MS, 0.0)],
)


TABLES = {"requests": REQUESTS, "request_tokens": TOKENS, "steps": STEPS, "gauges": GAUGES}


def test_numbers_of_a_server() -> None:
    for name, value in (
        # 10, 30, 50 and 20 ms to the first token, of all who got one
        ("ttft_p50", 25 * MS),
        ("ttft_mean", 27.5 * MS),
        ("ttft_p95", 47 * MS),
        # completed requests with more than one token, 10 ms for each after it
        ("tpot_mean", 10 * MS),
        ("tpot_std", 0),
        # 12, 8, 10 and 10 ms between tokens of one request
        ("itl_mean", 10 * MS),
        ("itl_std", math.sqrt(2) * MS),
        # 30, 40 and 20 ms of completed requests
        ("e2e_p50", 30 * MS),
        ("e2e_p99", 39.8 * MS),
        ("request_rate_offered", 125),
        ("request_rate_served", 3e9 / (70 * MS)),
        ("requests_completed", 3),
        ("requests_unfinished", 1),
        ("requests_rejected", 1),
        ("steady_token_rate", 500),
        ("ramp_time", 10 * MS),
        ("steady_time", 15 * MS),
        ("tail_time", 45 * MS),
        ("block_occupancy_peak", 0.8),
        ("block_occupancy_mean", (10 * 10 + 16 * 20 + 4 * 9) / 70 / 20),
        ("queue_peak", 3),
        ("step_p50", 10 * MS),  # a wait for load is no tick
        ("step_rate", 4 / 0.070),
    ):
        reversed_tables = {table: rows[::-1] for table, rows in TABLES.items()}  # in any order
        assert measure_tables(name, **reversed_tables) == pytest.approx(value, rel=1e-12)
    later = {**TABLES, "requests": REQUESTS[1:]}  # the first comes late
    assert measure_tables("request_rate_offered", **later) == 4e9 / (40 * MS)


def test_steady_runs_from_the_first_to_the_last_busy_tick() -> None:
    parts = serving.parts(STEPS, GAUGES)
    assert [(part.ticks, part.tokens) for part in parts.values()] == [(1, 1), (2, 7), (1, 2)]
    assert [part.rate for part in parts.values()] == [100.0, 500.0, 200.0]
    levels_of = [(1 * MS, 5.0), (11 * MS, 1.0), (61 * MS, 4.0)]
    gauges = levels(limit_active_sequences=[(0, 5.0)], active_sequences=levels_of)
    parts = serving.parts(STEPS, gauges)
    assert (parts["ramp"].ticks, parts["ramp"].rate) == (0, None)
    assert (parts["steady"].ticks, parts["tail"].window.length) == (4, 0)


def test_goodput_counts_who_is_within_all_limits_and_a_tick_is_too_long_above_its_own() -> None:
    for limits, good in (
        ({"limit_ttft": 10.0}, 1),
        ({"limit_ttft": 30.0}, 3),
        ({"limit_tpot": 9.9}, 1),
        ({"limit_tpot": 10.0, "limit_ttft": 20.0}, 2),
        ({"limit_tpot": 0.0, "limit_ttft": 0.0}, 0),
    ):
        tables = {**TABLES, "gauges": levels(**{name: [(0, v * MS)] for name, v in limits.items()})}
        assert measure_tables("slo_attainment", **tables) == good / 5, limits
        assert measure_tables("goodput", **tables) == good * 1e9 / (70 * MS), limits
    for longest, spikes in ((9, 3), (10, 0), (9.999999, 3)):
        limit = levels(limit_tick=[(0, longest * MS)])
        assert measure_tables("tick_spikes", **{**TABLES, "gauges": limit}) == spikes, longest


def test_a_workload_without_requests_has_none_of_the_numbers(subtests: pytest.Subtests) -> None:
    names = [
        name for name, metric in METRICS.items() if metric.measure.__module__.endswith("server")
    ]
    assert len(names) > 30
    for name in names:
        with subtests.test(name), pytest.raises(Unavailable, match="serves no requests"):
            measure_tables(name, **{**TABLES, "requests": REQUESTS.iloc[:0]})


WAITING = REQUESTS.assign(state="unfinished", produced=0).assign(
    **dict.fromkeys(("first_token", "last_token"), pd.array([None] * 5, dtype="Int64"))
)
FEW = levels(limit_active_sequences=[(0, 4.0), (1, 9.0)], active_sequences=[(1 * MS, 3.0)])


def test_missing_latencies_are_named(subtests: pytest.Subtests) -> None:
    for name, changes, reason in (
        ("goodput", {}, "neither --slo-ttft nor --slo-tpot was given"),
        ("tick_spikes", {}, "does not tell which ticks are too long"),
        ("ttft_p50", {"requests": WAITING}, "no request got a token"),
        ("e2e_p50", {"requests": WAITING}, "no request was completed"),
        ("tpot_p50", {"requests": REQUESTS[4:]}, "no completed request has more than one token"),
        ("itl_p50", {"request_tokens": TOKENS[:1]}, "no request has more than one token"),
        ("ramp_time", {"gauges": FEW}, "at most 3 of 9 slots were taken, and steady begins at 80"),
        ("ramp_time", {"gauges": FEW[2:]}, "does not tell how many sequences"),
        ("ramp_time", {"steps": STEPS[4:5]}, "made no step"),
        ("block_occupancy_peak", {"gauges": GAUGES[2:]}, "does not tell how many blocks it has"),
        ("queue_peak", {"gauges": FEW}, "the workload reported no queued_requests"),
    ):
        with subtests.test((name, reason)), pytest.raises(Unavailable, match=reason):
            measure_tables(name, **{**TABLES, **changes})
