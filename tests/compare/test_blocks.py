"""A run in blocks: what its metrics are in each, and where they are none of single blocks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.base.errors import InputError
from tracekit.compare.samples import BLOCKS, Blocks, Sample

Make = Callable[..., Any]


def test_a_run_is_cut_into_ten_blocks_of_its_steady_window(sample: Make) -> None:
    times = [100] * 100 + [200] * 100
    values = Blocks(sample(times)).values("step_p50")
    assert len(values) == BLOCKS
    assert values[0] == 100
    assert values[-1] == 200
    assert values == tuple(sorted(values)), "blocks stand in the order of time"


def test_rates_are_those_of_the_block(sample: Make) -> None:
    values = Blocks(sample([1_000_000] * 400)).values("tokens_per_second")
    assert values == pytest.approx([16_000] * BLOCKS)


def test_few_steps_make_fewer_blocks(sample: Make) -> None:
    assert len(Blocks(sample([1000] * 24)).values("step_p50")) == 6


def test_too_few_steps_make_none_and_the_reason_says_how_many(sample: Make) -> None:
    blocks = Blocks(sample([1000] * 19))
    with pytest.raises(Unavailable, match="takes 20 steady steps, and it has 19"):
        blocks.values("step_p50")


def test_without_tables_there_are_no_blocks(sample: Make) -> None:
    gone = replace(sample([1000] * 40), tables=None, absence="the exports are gone.")
    blocks = Blocks(gone)
    assert blocks.reference() == ()
    with pytest.raises(Unavailable, match="the exports are gone"):
        blocks.values("step_p50")


def test_a_run_without_a_window_has_none(sample: Make) -> None:
    with pytest.raises(Unavailable, match="neither phases nor intervals"):
        Blocks(sample([1000] * 40, tables={"other": pd.DataFrame()})).values("step_p50")
    empty = pd.DataFrame({"start": [], "duration": [], "name": []})
    with pytest.raises(Unavailable, match="no steady window"):
        Blocks(sample([1000] * 40, tables={"phases": empty})).values("step_p50")


def test_a_trace_without_steps_is_cut_by_time(sample: Make, tables: Make) -> None:
    own = tables([100] * 50)
    del own["steps"], own["phases"]
    blocks = Blocks(sample([100] * 50, tables=own))
    with pytest.raises(Unavailable, match="no table steps"):
        blocks.values("step_p50")
    assert len(blocks.values("host_idle_ratio")) == BLOCKS


def test_what_the_workload_measured_once_has_no_blocks(sample: Make) -> None:
    with pytest.raises(Unavailable, match="measured it once"):
        Blocks(sample([1000] * 40)).values("hit_rate")


def test_a_number_of_the_whole_run_has_no_blocks(sample: Make) -> None:
    with pytest.raises(Unavailable, match="of the whole run"):
        Blocks(sample([1000] * 40)).values("memory_growth")


def test_a_table_that_cannot_be_read_costs_only_what_needs_it(sample: Make, tables: Make) -> None:
    class Broken(dict[str, pd.DataFrame]):
        def __getitem__(self, name: str) -> pd.DataFrame:
            if name == "process_samples":
                raise InputError("it is damaged.")
            return super().__getitem__(name)

    whole: Sample = sample([1000] * 40, tables=Broken(tables([1000] * 40)))
    blocks = Blocks(whole)
    assert len(blocks.values("step_p50")) == BLOCKS
    with pytest.raises(Unavailable, match="it is damaged"):
        blocks.values("memory_peak")


def test_the_reference_is_the_median_of_each_block(
    sample: Make, tables: Make, reference: Make
) -> None:
    times = [1000] * 200
    paces = np.repeat([50.0, 60.0], 100)
    gauges = reference(times, paces)
    found = Blocks(sample(times, tables=tables(times) | {"gauges": gauges})).reference()
    assert found == (50.0,) * 5 + (60.0,) * 5


def test_a_reference_of_another_unit_or_with_holes_is_none(
    sample: Make, tables: Make, reference: Make
) -> None:
    times = [1000] * 200
    gauges = reference(times, [50.0] * 200)
    other = gauges.assign(unit="count")
    holes = gauges[gauges["time"] < 100_000]
    for one in (other, holes):
        assert Blocks(sample(times, tables=tables(times) | {"gauges": one})).reference() == ()


def test_a_few_blocks_without_a_reading_get_the_median_of_the_others(
    sample: Make, tables: Make, reference: Make
) -> None:
    times = [1000] * 200
    gauges = reference(times, np.repeat([50.0, 60.0, 70.0, 70.0], 50))
    told = gauges[~gauges["time"].between(40_000, 80_000)]
    found = Blocks(sample(times, tables=tables(times) | {"gauges": told})).reference()
    assert found == (50.0, 50.0, 70.0, 70.0, 60.0, 70.0, 70.0, 70.0, 70.0, 70.0)


def test_the_workloads_own_reference_is_taken_before_the_workers(
    sample: Make, tables: Make, reference: Make
) -> None:
    times = [1000] * 200
    own = reference(times, [50.0] * 200)
    workers = reference(times, [9.0] * 200).assign(source="tracekit (MLX)")
    both = Blocks(sample(times, tables=tables(times) | {"gauges": pd.concat([own, workers])}))
    assert (both.reference(), both.reference_source()) == ((50.0,) * BLOCKS, "workload")
    one = Blocks(sample(times, tables=tables(times) | {"gauges": workers}))
    assert (one.reference(), one.reference_source()) == ((9.0,) * BLOCKS, "tracekit (MLX)")
    assert Blocks(sample(times)).reference_source() == ""
