"""Steps in a row: their rhythm and speeds, those that stand out, and what explains them."""

import numpy as np
import pandas as pd
import pytest

from analysed import MS, intervals, make_named_table, row_of_steps, table
from tracekit.analysis.beats import beats, period, spikes
from tracekit.analysis.happenings import happenings
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.modes import modes
from tracekit.analysis.rhythm import Explanation, explain


def test_a_beat_ends_at_the_next_step_or_its_reference_work() -> None:
    steps = row_of_steps([10 * MS] * 20).assign(duration=7 * MS)
    [row] = beats(steps, None)
    assert row.times.tolist() == [10 * MS] * 19
    assert row.variation == 0
    notes = make_named_table(("reference", 8, 2), ("reference", 27, 3), ("admit", 48, 1))
    [row] = beats(steps, None, notes)
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
        beat_rows = beats(rows, None)
        assert [row.of_variant for row in beat_rows] == [" of paged", " of sdpa"], rows
        assert [set(row.times.tolist()) for row in beat_rows] == [{10 * MS}, {30 * MS}], rows


def test_a_missing_rhythm_gives_its_reason() -> None:
    steps, requests = row_of_steps([10 * MS] * 20), pd.DataFrame({"request": [0]})
    assert beats(steps[:17], requests[:0])
    for rows, served, reason in (
        (steps[:16], None, "the longest row has 15"),
        (steps, requests, "a server's"),
        (steps.assign(phase="warm-up"), None, "no step in its steady phase"),
    ):
        with pytest.raises(Unavailable, match=reason):
            beats(rows, served)
    prompt = make_named_table(("prefill", 0, 1))
    with pytest.raises(Unavailable, match="a server's"):
        beats(steps, None, prompt)


def test_variation_is_that_of_normal_noise_without_drift_and_outliers() -> None:
    noise = np.random.default_rng(7).normal(10 * MS, MS, 4_000).astype(np.int64)
    [row] = beats(row_of_steps(noise.tolist()), None)
    assert row.variation == pytest.approx(0.1, rel=0.08)
    drifting = [10 * MS + step * 20_000 for step in range(400)]
    drifting[50] *= 40
    [row] = beats(row_of_steps(drifting), None)
    assert row.variation < 0.002


def test_spikes_exceed_their_neighbours_not_the_whole() -> None:
    times = [10 * MS] * 100 + [40 * MS] * 100
    times[30], times[150] = 30 * MS, 44 * MS
    [row] = beats(row_of_steps(times), None)
    chosen, excess = spikes(row)
    assert np.flatnonzero(chosen).tolist() == [30]
    assert excess[30] == 20 * MS


def test_spikes_have_a_period_where_most_come_by_as_many_beats() -> None:
    for places, expected_period in (
        ((5, 15, 25), None),
        ((5, 15, 25, 35, 38), 10),
        ((5, 15, 25, 28, 31), None),
        ((5, 6, 7, 8), None),  # one long disturbance
    ):
        assert period(np.isin(np.arange(40), places)) == expected_period, places


def test_two_speeds_are_parted_and_one_hardly() -> None:
    turns = np.array([10, 14] * 50)
    turn_modes = modes(turns)
    assert (turn_modes.fast_time, turn_modes.slow_time, turn_modes.changes) == (10, 14, 99)
    assert (turn_modes.minority, turn_modes.excess) == (0.5, pytest.approx(0.4))
    assert turn_modes.slow[:4].tolist() == [False, True, False, True]
    turns[40] = 9_000  # an outlier hides nothing
    assert (modes(turns).slow_time, modes(turns).minority) == (14, pytest.approx(0.5, abs=0.02))
    rarer = modes(np.array([30, 30, 30, 10] * 25))
    assert (rarer.minority, rarer.slow.mean()) == (0.25, 0.75)
    noise = np.random.default_rng(1).normal(1e6, 1e5, 1_000).astype(np.int64)
    assert modes(noise).separation < 4
    assert modes(np.arange(1_000, 2_000)).separation < 4
    equal = modes(np.full(20, 7))
    assert (equal.minority, equal.separation, equal.excess) == (0, 0, 0)


TABLES = (
    *("gpu_intervals", "compiler_activity", "driver_events"),
    *("gpu_performance_states", "thermal_states", "spans", "handover", "gaps"),
)
COMPILED, LOG = "shaders were compiled", "the workload was in its span “log”"


def rows(*pieces: tuple[int, int], target: bool = True, **words: str) -> pd.DataFrame:
    """Make a table of (start, duration) pairs in ms, with words in columns."""
    return table("start duration", *pieces, target=target, **words)


def explain_steps(*places: int, **tables: pd.DataFrame) -> Explanation:
    """Explain the slow ones of 40 steps of 10 ms, which take 30 ms, by tables."""
    [row] = beats(row_of_steps([30 * MS if p in places else 10 * MS for p in range(40)]), None)
    chosen, excess = spikes(row)
    assert chosen.sum() == len(places)
    return explain(row, chosen, excess, happenings(*(tables.get(name) for name in TABLES)))


SLOW = (104, 20)
STATES = pd.concat([rows((0, 100), (130, 700), state="Maximum"), rows((100, 30), state="Minimum")])
WHOLE = rows((0, 900), state="Minimum", name="decode")


def test_the_most_specific_event_of_slow_steps_explains_them() -> None:
    for tables, cause in (
        ({"compiler_activity": rows(SLOW)}, COMPILED),
        ({"compiler_activity": rows(SLOW, target=False)}, ""),
        ({"gpu_performance_states": WHOLE, "thermal_states": WHOLE, "spans": WHOLE}, ""),
        ({"gpu_performance_states": STATES}, "the performance state was Minimum"),
        ({"thermal_states": STATES}, "the thermal state was Minimum"),
        ({"spans": rows(SLOW, name="log")}, LOG),
        ({"spans": rows(SLOW, name="idle")}, ""),
        ({"spans": pd.concat([rows(SLOW, name="log"), rows(SLOW, name="compile")])}, COMPILED),
        ({"driver_events": rows(SLOW, event="Wire Memory")}, "the driver wired memory"),
        ({"driver_events": rows(SLOW, event="Something Else")}, ""),
        ({}, ""),
    ):
        assert explain_steps(10, **tables).causes == (cause,)


def test_how_many_each_cause_explains_is_said() -> None:
    compiled = {"compiler_activity": rows((105, 18))}
    explanation = explain_steps(10, 20, **compiled)
    assert explanation.causes == (COMPILED, "")
    assert explanation.compiled.tolist() == [18 * MS, 0]
    assert (explanation.cause_words, explanation.unexplained_count) == (f"{COMPILED} (1)", 1)
    alone = explain_steps(10, **compiled)
    assert (alone.cause_words, alone.unexplained_count, alone.mechanism) == (
        COMPILED,
        0,
        "compile-in-loop",
    )
    empty_explanation = explain_steps(10)
    assert (
        empty_explanation.cause_words,
        empty_explanation.unexplained_count,
        empty_explanation.mechanism,
    ) == ("", 1, "spikes-unexplained")


def test_the_device_is_named_last_and_its_idle_time_is_counted_by_bubbles_too() -> None:
    starts = [(step * 10 + (20 if step > 10 else 0)) * MS for step in range(40)]
    waits = intervals([(start, 9 * MS) for start in starts])
    longer = [(start, (29 if start == 100 * MS else 9) * MS) for start in starts]
    works = intervals(longer)
    other_work = intervals(longer, other_times=[(101 * MS, 25 * MS)])
    blocked = other_work.assign(channel="Compute")
    for name, frame, cause, outer_rule in (
        ("waits", waits, "the device had nothing of the target to do", "bubbles"),
        ("works", works, "the device worked longer for the target", ""),
        (
            "beside",
            other_work,
            "the device worked longer for the target",
            "",
        ),  # on a channel of its own
        ("blocked", blocked, "other processes used the GPU", ""),
    ):
        explanation = explain_steps(10, gpu_intervals=frame)
        assert (explanation.causes, explanation.enclosing_rule) == ((cause,), outer_rule), name
    joint_explanation = explain_steps(10, gpu_intervals=waits, compiler_activity=rows((105, 24)))
    assert not joint_explanation.enclosing_rule, "pipeline-churn has that time"
