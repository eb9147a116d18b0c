"""Steps in a row: their rhythm, their speeds, and those that stand out."""

import numpy as np
import pandas as pd
import pytest

from analysed import row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rhythm import beats, modes, spikes

MS = 1_000_000


def test_a_beat_ends_where_the_next_step_or_reference_work_before_it_starts() -> None:
    steps = row_of_steps([10 * MS] * 20).assign(duration=7 * MS)
    [row] = beats(steps, None)
    assert row.times.tolist() == [10 * MS] * 19
    assert row.variation == 0
    notes = pd.DataFrame({"start": [8 * MS, 27 * MS, 48 * MS], "duration": [2 * MS, 3 * MS, MS]})
    [row] = beats(steps, None, notes.assign(name=["reference", "reference", "admit"]))
    assert row.times.tolist()[:5] == [8 * MS, 10 * MS, 7 * MS, 10 * MS, 10 * MS]


def test_a_step_before_a_break_has_no_beat() -> None:
    steps = row_of_steps([10 * MS] * 20)
    steps.loc[8, "phase"] = "overhead"
    [row] = beats(steps, None)
    assert row.times.tolist() == [10 * MS] * 17
    steps.loc[8:, "start"] += 500 * MS
    [apart] = beats(steps, None)
    assert apart.times.max() == 10 * MS


def test_variants_are_apart_in_any_order_of_rows() -> None:
    steps = row_of_steps([10 * MS, 30 * MS] * 20, ("paged", "sdpa"))
    steps.loc[:2, "variant"] = "rare"  # of which there are too few
    for rows in (steps, steps.iloc[::-1]):
        found = beats(rows, None)
        assert [row.of_variant for row in found] == [" of paged", " of sdpa"]
        assert [set(row.times.tolist()) for row in found] == [{10 * MS}, {30 * MS}]


def test_where_there_is_no_rhythm_the_reason_is_said() -> None:
    steps = row_of_steps([10 * MS] * 20)
    assert beats(steps[:17], pd.DataFrame({"request": []}))
    for rows, requests, reason in (
        (steps[:16], None, "the longest row has 15"),
        (steps, pd.DataFrame({"request": [0]}), "a server's"),
        (steps.assign(phase="warm-up"), None, "no step in its steady phase"),
    ):
        with pytest.raises(Unavailable, match=reason):
            beats(rows, requests)


def test_variation_is_that_of_normal_noise_without_drift_and_outliers() -> None:
    noise = np.random.default_rng(7).normal(10 * MS, MS, 4_000).astype(np.int64)
    [row] = beats(row_of_steps(noise.tolist()), None)
    assert row.variation == pytest.approx(0.1, rel=0.08)
    drifting = [10 * MS + step * 20_000 for step in range(400)]
    drifting[50] *= 40
    [row] = beats(row_of_steps(drifting), None)
    assert row.variation < 0.002


def test_spikes_stand_out_of_their_neighbours_not_of_all() -> None:
    times = [10 * MS] * 100 + [40 * MS] * 100
    times[30], times[150] = 30 * MS, 44 * MS
    [row] = beats(row_of_steps(times), None)
    chosen, excess = spikes(row)
    assert np.flatnonzero(chosen).tolist() == [30]
    assert excess[30] == 20 * MS


def test_two_speeds_are_parted_and_one_hardly() -> None:
    turns = np.array([10, 14] * 50)
    found = modes(turns)
    assert (found.fast_time, found.slow_time, found.changes) == (10, 14, 99)
    assert (found.minority, found.excess) == (0.5, pytest.approx(0.4))
    assert found.slow[:4].tolist() == [False, True, False, True]
    turns[40] = 9_000  # an outlier hides nothing
    assert (modes(turns).slow_time, modes(turns).minority) == (14, pytest.approx(0.5, abs=0.02))
    rarer = modes(np.array([30, 30, 30, 10] * 25))
    assert (rarer.minority, rarer.slow.mean()) == (0.25, 0.75)
    noise = np.random.default_rng(1).normal(1e6, 1e5, 1_000).astype(np.int64)
    assert modes(noise).separation < 4
    assert modes(np.arange(1_000, 2_000)).separation < 4
    equal = modes(np.full(20, 7))
    assert (equal.minority, equal.separation, equal.excess) == (0, 0, 0)
