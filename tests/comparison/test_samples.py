"""Runs in blocks: what metrics are in each, where they are none of parts; the order of runs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from step_samples import MS, Broken, reference_frame, sample_of, tables_of
from tracekit.analysis.inject import Unavailable
from tracekit.comparison.blocks import BLOCKS
from tracekit.comparison.samples import Blocks, Order, order_of

TIMES = [1000] * 200


def test_a_run_is_cut_into_ten_blocks_in_order_of_time_and_a_short_one_into_fewer() -> None:
    slowed = Blocks(sample_of([100] * 100 + [200] * 100))
    assert slowed.values("step_p50") == (100, 100, 100, 150, *(200,) * 6)
    rates = Blocks(sample_of([MS] * 400)).values("tokens_per_second")
    assert rates == pytest.approx([16_000] * BLOCKS)
    numbers = {
        count: len(Blocks(sample_of([1000] * count)).values("step_p50")) for count in (20, 24)
    }
    assert numbers == {20: 5, 24: 6}


def test_a_trace_without_steps_is_cut_by_time() -> None:
    target_rows = tables_of([100] * 50)["gpu_intervals"]
    other_rows = target_rows.assign(start=target_rows["start"] + 5000, target=False)
    tables = {"gpu_intervals": pd.concat([target_rows, other_rows], ignore_index=True)}
    blocks = Blocks(sample_of([100] * 50, tables=tables))
    assert blocks.values("host_idle_ratio") == (0.0,) * BLOCKS
    with pytest.raises(Unavailable, match="no table steps"):
        blocks.values("step_p50")


def test_blocks_are_of_the_steady_phase_alone_with_intervals_or_without() -> None:
    target_tables = tables_of([2000] * 50 + [1000] * 100)
    phases = target_tables["phases"].assign(start=100_000, duration=pd.array([100_000], "Int64"))
    for tables in (
        target_tables | {"phases": phases},
        {"phases": phases, "steps": target_tables["steps"]},
    ):
        blocks = Blocks(sample_of([1000], tables=tables))
        assert blocks.values("step_p50") == (1000,) * BLOCKS, list(tables)
    halves = target_tables["gpu_intervals"].assign(duration=500)
    blocks = Blocks(
        sample_of([1000], tables=target_tables | {"phases": phases, "gpu_intervals": halves})
    )
    assert blocks.values("host_idle_ratio") == (0.5,) * BLOCKS, "a block is as long as its window"


def test_a_number_without_parts_says_why_and_costs_no_other() -> None:
    blocks = Blocks(sample_of([1000] * 40, tables=Broken(tables_of([1000] * 40))))
    for name, words in (
        ("hit_rate", "it was measured once"),
        ("memory_growth", "of the whole run"),
        ("memory_peak", "it is damaged"),
    ):
        with pytest.raises(Unavailable, match=words):
            blocks.values(name)
    assert len(blocks.values("step_p50")) == BLOCKS


NO_PHASE = pd.DataFrame({"start": [], "duration": [], "name": []})


def test_a_run_without_blocks_says_why() -> None:
    for change, words in (
        ({"tables": None, "absence": "the exports are gone."}, "the exports are gone"),
        ({"tables": {"other": NO_PHASE}}, "neither phases nor intervals"),
        ({"tables": {"phases": NO_PHASE}}, "no steady window"),
        ({}, "takes 20 steady steps, and it has 19"),
        # One that begins where the steady phase ends is none of it.
        (
            {"tables": tables_of([1000] * 20) | {"phases": tables_of([1000] * 19)["phases"]}},
            "has 19",
        ),
    ):
        blocks = Blocks(replace(sample_of([1000] * 19), **change))
        assert blocks.reference() == (), change
        with pytest.raises(Unavailable, match=words):
            blocks.values("step_p50")


def make_blocks(gauges: pd.DataFrame) -> Blocks:
    return Blocks(sample_of(TIMES, tables=tables_of(TIMES) | {"gauges": gauges}))


def test_the_reference_is_the_median_of_each_block_or_of_all_where_few_lack_it() -> None:
    gauges = reference_frame(TIMES, np.repeat([50.0, 60.0, 70.0, 70.0], 50).tolist())
    block_values = (50.0, 50.0, 55.0, 60.0, 60.0, 70.0, 70.0, 70.0, 70.0, 70.0)
    assert make_blocks(gauges).reference() == block_values
    holed = gauges[~gauges["time"].between(40_000, 80_000)]
    assert make_blocks(holed).reference() == (50.0, 50.0, 70.0, 70.0, 60.0, *block_values[5:])
    short = make_blocks(reference_frame(TIMES, [0.5] * 200))
    assert short.reference() == (0.5,) * BLOCKS, "less than a nanosecond"
    for unusable_gauges in (gauges.assign(unit="count"), gauges[gauges["time"] < 100_000]):
        assert make_blocks(unusable_gauges).reference() == (), unusable_gauges


def test_the_workloads_own_reference_is_taken_before_the_workers() -> None:
    workers = reference_frame(TIMES, [9.0] * 200, "tracekit (MLX)")
    blocks = make_blocks(pd.concat([reference_frame(TIMES, [50.0] * 200), workers]))
    assert (blocks.reference(), blocks.reference_source()) == ((50.0,) * BLOCKS, "workload")
    alone = make_blocks(workers)
    assert (alone.reference(), alone.reference_source()) == ((9.0,) * BLOCKS, "tracekit (MLX)")
    assert Blocks(sample_of(TIMES)).reference_source() == ""


def test_runs_have_an_order() -> None:
    for minutes_before, minutes_after, order in (
        ([1], [2], Order.ALTERNATING),
        ([1, 4, 5], [2, 3, 6], Order.ALTERNATING),
        ([1, 2, 3], [4, 5, 6], Order.APART),
        ([4, 5, 6], [1, 2], Order.APART),
        ([1, 3, 5], [2, 4], Order.MIXED),
        ([1, 2, 5, 6], [3, 4, 7, 8], Order.MIXED),
    ):
        first_side, second = (
            [sample_of([MS], started=f"2026-11-20T10:0{minute}:00{zone}") for minute in side]
            for side, zone in ((minutes_before, "+00:00"), (minutes_after, ""))
        )
        assert order_of(first_side, second) is order_of(second, first_side) is order, minutes_before
        for started in ("", "yesterday"):
            unknown = sample_of([MS], started=started)
            assert order_of(first_side, [*second, unknown]) is Order.UNKNOWN, (
                minutes_before,
                started,
            )
