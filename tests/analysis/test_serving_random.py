"""Latencies, parts and levels of random runs, against loops over plain numbers."""

import math
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.analysis import serving
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window

Ticks = list[tuple[int, int, int, bool]]
Levels = list[tuple[int, int]]

TICKS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(0, 9), st.booleans()),
    min_size=1,
    max_size=30,
)
LEVELS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 10)), min_size=1, max_size=30)


def steps_of(ticks: Ticks) -> pd.DataFrame:
    """Lay ticks of (pause before, duration, tokens, whether it waited) one behind the other."""
    rows, at = [], 0
    for pause, length, tokens, waited in ticks:
        at += pause
        rows.append((at, length, "steady", tokens, "idle" if waited else ""))
        at += length
    names = ["start", "duration", "phase", "tokens", "variant"]
    return pd.DataFrame(rows, columns=names).astype({"duration": "Int64", "tokens": "Int64"})


def gauges_of(levels: Levels, slots: int) -> pd.DataFrame:
    rows = [(at, "active_sequences", float(value)) for at, value in levels]
    rows += [(0, "limit_active_sequences", float(slots))]
    return pd.DataFrame(rows, columns=["time", "name", "value"])


def level(levels: Levels, at: int) -> int:
    held = 0
    for moment, value in sorted(levels, key=lambda one: one[0]):
        if moment <= at:
            held = value
    return held


def last_of_each_moment(levels: Levels) -> Levels:
    return list(dict(levels).items())


@settings(deadline=None)
@given(LEVELS, st.lists(st.integers(-5, 450), min_size=1))
def test_a_level_is_what_was_reported_last(levels: Levels, moments: list[int]) -> None:
    levels = last_of_each_moment(levels)
    found = serving.level_at(
        gauges_of(levels, 1), "active_sequences", pd.Series(moments).to_numpy("int64")
    )
    assert found.tolist() == [level(levels, at) for at in moments]


@settings(deadline=None)
@given(LEVELS, st.integers(0, 300), st.integers(1, 200))
def test_a_mean_over_time_is_the_mean_of_every_nanosecond(
    levels: Levels, begin: int, length: int
) -> None:
    levels = last_of_each_moment(levels)
    window = Window(begin, begin + length)
    found = serving.time_weighted(gauges_of(levels, 1), "active_sequences", window)
    each = [level(levels, at) for at in range(begin, begin + length)]
    assert found == pytest.approx(sum(each) / length)


@settings(max_examples=150, deadline=None)
@given(TICKS, LEVELS, st.integers(1, 10))
def test_parts_are_those_of_a_loop_over_ticks(ticks: Ticks, levels: Levels, slots: int) -> None:
    levels, steps = last_of_each_moment(levels), steps_of(ticks)
    rows = [
        (start, start + length, tokens, variant)
        for start, length, _, tokens, variant in steps.itertuples(index=False)
    ]
    worked = [(start, end, tokens) for start, end, tokens, variant in rows if variant == ""]
    busy = [(start, end) for start, end, _ in worked if level(levels, end) >= 0.8 * slots]
    if not busy:
        with pytest.raises(Unavailable):
            serving.parts(steps, gauges_of(levels, slots))
        return
    first, last = busy[0][0], busy[-1][1]
    found = serving.parts(steps, gauges_of(levels, slots))
    bounds = [rows[0][0], first, last, max(end for _, end, _, _ in rows)]
    for (begin, end), part in zip(pairwise(bounds), found.values(), strict=True):
        inside = [tokens for start, _, tokens in worked if begin <= start < end]
        assert (part.window.start, part.window.end) == (begin, end)
        assert (part.ticks, part.tokens) == (len(inside), sum(inside))


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 10**12), unique=True, max_size=8), max_size=8))
def test_gaps_are_those_of_a_loop_over_requests(moments: list[list[int]]) -> None:
    rows = [
        (at, request, index)
        for request, times in enumerate(moments)
        for index, at in enumerate(sorted(times))
    ]
    tokens = pd.DataFrame(rows, columns=["time", "request", "index"]).astype("int64")
    requests = pd.DataFrame({"state": ["completed"] * max(1, len(moments))})
    expected = [after - before for times in moments for before, after in pairwise(sorted(times))]
    if not expected:
        with pytest.raises(Unavailable):
            serving.gaps_between_tokens(requests, tokens)
        return
    shuffled = tokens.sample(frac=1, random_state=0)
    assert serving.gaps_between_tokens(requests, shuffled).tolist() == expected


@settings(deadline=None)
@given(st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=50))
def test_a_mean_does_not_depend_on_the_order(values: list[float]) -> None:
    forwards, backwards = (pd.Series(one).to_numpy("float64") for one in (values, values[::-1]))
    assert serving.mean(forwards) == serving.mean(backwards)
    assert serving.deviation(forwards) == serving.deviation(backwards)
    assert serving.mean(forwards) == pytest.approx(math.fsum(values) / len(values), rel=1e-15)
    assert serving.deviation(forwards) >= 0
