"""Steps in a row: their rhythm, and those that stand out."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rhythm import beats, spikes

Make = Callable[..., pd.DataFrame]
MS = 1_000_000


def test_a_beat_ends_where_the_next_step_starts(row_of_steps: Make) -> None:
    steps = row_of_steps([10 * MS] * 20)
    steps["duration"] = pd.array([7 * MS] * 20, dtype="Int64")
    [one] = beats(steps, None)
    assert one.times.tolist() == [10 * MS] * 19
    assert one.variation == 0


def test_a_step_before_a_break_has_no_beat(row_of_steps: Make) -> None:
    steps = row_of_steps([10 * MS] * 20)
    steps.loc[8, "phase"] = "overhead"
    [one] = beats(steps, None)
    assert one.times.tolist() == [10 * MS] * 17
    steps.loc[8:, "start"] += 500 * MS
    [apart] = beats(steps, None)
    assert apart.times.max() == 10 * MS


def test_the_order_of_the_rows_does_not_matter(row_of_steps: Make) -> None:
    steps = row_of_steps([10 * MS, 12 * MS, 9 * MS, 11 * MS] * 6)
    [one], [other] = beats(steps, None), beats(steps.iloc[::-1], None)
    assert one.times.tolist() == other.times.tolist()


def test_variants_are_apart(row_of_steps: Make) -> None:
    found = beats(row_of_steps([10 * MS, 30 * MS] * 20, ("paged", "sdpa")), None)
    assert [one.variant for one in found] == ["paged", "sdpa"]
    assert [set(one.times.tolist()) for one in found] == [{10 * MS}, {30 * MS}]
    assert [one.of_variant for one in found] == [" of paged", " of sdpa"]


def test_a_variant_of_few_steps_is_left_out(row_of_steps: Make) -> None:
    steps = row_of_steps([10 * MS] * 20)
    steps.loc[:2, "variant"] = "rare"
    [one] = beats(steps, None)
    assert one.variant == ""
    assert one.starts.size == 16


def test_few_steps_have_no_rhythm(row_of_steps: Make) -> None:
    with pytest.raises(Unavailable, match="the longest row has 14"):
        beats(row_of_steps([10 * MS] * 15), None)


def test_a_servers_steps_have_none(row_of_steps: Make) -> None:
    steps = row_of_steps([10 * MS] * 20)
    assert beats(steps, pd.DataFrame({"request": []}))
    with pytest.raises(Unavailable, match="a server's"):
        beats(steps, pd.DataFrame({"request": [0]}))


def test_without_steady_steps_there_is_none(row_of_steps: Make) -> None:
    with pytest.raises(Unavailable, match="no step in its steady phase"):
        beats(row_of_steps([10 * MS] * 20).assign(phase="warm-up"), None)


def test_variation_is_that_of_normal_noise(row_of_steps: Make) -> None:
    noise = np.random.default_rng(7).normal(10 * MS, MS, 4_000).astype(np.int64)
    [one] = beats(row_of_steps(noise.tolist()), None)
    assert one.variation == pytest.approx(0.1, rel=0.08)


def test_neither_drift_nor_an_outlier_adds_to_variation(row_of_steps: Make) -> None:
    drifting = [10 * MS + step * 20_000 for step in range(400)]
    drifting[50] *= 40
    [one] = beats(row_of_steps(drifting), None)
    assert one.variation < 0.002


def test_spikes_stand_out_of_their_neighbours_not_of_all(row_of_steps: Make) -> None:
    times = [10 * MS] * 100 + [40 * MS] * 100
    times[30] = 30 * MS
    times[150] = 44 * MS
    [one] = beats(row_of_steps(times), None)
    found = spikes(one)
    assert np.flatnonzero(found.chosen).tolist() == [30]
    assert found.excess[30] == 20 * MS
    assert found.share == 1 / 199


def test_noise_has_no_spikes(row_of_steps: Make) -> None:
    noise = np.random.default_rng(3).lognormal(np.log(10 * MS), 0.15, 3_000).astype(np.int64)
    [one] = beats(row_of_steps(noise.tolist()), None)
    assert not spikes(one).chosen.any()


def test_steps_that_take_turns_are_no_spikes(row_of_steps: Make) -> None:
    [one] = beats(row_of_steps([10 * MS, 25 * MS] * 40), None)
    assert not spikes(one).chosen.any()


def test_reference_work_before_a_step_is_no_part_of_the_beat(row_of_steps: Make) -> None:
    steps = row_of_steps([10 * MS] * 20)
    annotations = pd.DataFrame(
        {
            "start": [8 * MS, 27 * MS, 48 * MS],
            "duration": [2 * MS, 3 * MS, 1 * MS],
            "name": ["reference", "reference", "admit"],
        }
    )
    [one] = beats(steps, None, annotations)
    assert one.times.tolist()[:5] == [8 * MS, 10 * MS, 7 * MS, 10 * MS, 10 * MS]
