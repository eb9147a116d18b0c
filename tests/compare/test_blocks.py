"""A run in blocks: what its metrics are in each, and where they are none of single blocks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.base.errors import InputError
from tracekit.compare.samples import BLOCKS, Blocks

Make = Callable[..., Any]
TIMES = [1000] * 200


class Broken(dict[str, pd.DataFrame]):
    """Tables of which one cannot be read."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name == "process_samples":
            raise InputError("it is damaged.")
        return super().__getitem__(name)


def test_a_run_is_cut_into_ten_blocks_in_order_of_time_and_a_short_one_into_fewer(
    sample: Make,
) -> None:
    values = Blocks(sample([100] * 100 + [200] * 100)).values("step_p50")
    assert (len(values), values[0], values[-1]) == (BLOCKS, 100, 200)
    assert values == tuple(sorted(values))
    rates = Blocks(sample([1_000_000] * 400)).values("tokens_per_second")
    assert rates == pytest.approx([16_000] * BLOCKS)
    assert len(Blocks(sample([1000] * 24)).values("step_p50")) == 6
    assert len(Blocks(sample([1000] * 20)).values("step_p50")) == 5


def test_a_trace_without_steps_is_cut_by_time(sample: Make, make: Any) -> None:
    own = make.tables([100] * 50)
    del own["steps"], own["phases"]
    blocks = Blocks(sample([100] * 50, tables=own))
    assert len(blocks.values("host_idle_ratio")) == BLOCKS
    with pytest.raises(Unavailable, match="no table steps"):
        blocks.values("step_p50")


def test_blocks_are_of_the_steady_phase_alone_with_intervals_or_without(
    sample: Make, make: Any
) -> None:
    own = make.tables([2000] * 50 + [1000] * 100)
    phases = own["phases"].assign(start=100_000, duration=pd.array([100_000], "Int64"))
    for tables in (own | {"phases": phases}, {"phases": phases, "steps": own["steps"]}):
        values = Blocks(sample([1000], tables=tables)).values("step_p50")
        assert values == (1000,) * BLOCKS


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hit_rate", "measured it once"),
        ("memory_growth", "of the whole run"),
        ("memory_peak", "it is damaged"),
    ],
)
def test_a_number_without_parts_says_why_and_costs_no_other(
    sample: Make, make: Any, name: str, words: str
) -> None:
    blocks = Blocks(sample([1000] * 40, tables=Broken(make.tables([1000] * 40))))
    assert len(blocks.values("step_p50")) == BLOCKS
    with pytest.raises(Unavailable, match=words):
        blocks.values(name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tables": None, "absence": "the exports are gone."}, "the exports are gone"),
        ({"tables": {"other": pd.DataFrame()}}, "neither phases nor intervals"),
        (
            {"tables": {"phases": pd.DataFrame({"start": [], "duration": [], "name": []})}},
            "no steady window",
        ),
        ({}, "takes 20 steady steps, and it has 19"),
    ],
)
def test_a_run_without_blocks_says_why(sample: Make, change: dict[str, Any], words: str) -> None:
    blocks = Blocks(replace(sample([1000] * 19), **change))
    assert blocks.reference() == ()
    with pytest.raises(Unavailable, match=words):
        blocks.values("step_p50")


def referenced(sample: Make, make: Any, gauges: pd.DataFrame) -> Blocks:
    return Blocks(sample(TIMES, tables=make.tables(TIMES) | {"gauges": gauges}))


def test_the_reference_is_the_median_of_each_block_or_of_all_where_few_lack_it(
    sample: Make, make: Any
) -> None:
    gauges = make.reference(TIMES, np.repeat([50.0, 60.0, 70.0, 70.0], 50))
    known = (50.0, 50.0, 55.0, 60.0, 60.0, 70.0, 70.0, 70.0, 70.0, 70.0)
    assert referenced(sample, make, gauges).reference() == known
    holed = gauges[~gauges["time"].between(40_000, 80_000)]
    assert referenced(sample, make, holed).reference() == (50.0, 50.0, 70.0, 70.0, 60.0, *known[5:])
    short = referenced(sample, make, make.reference(TIMES, [0.5] * 200))
    assert short.reference() == (0.5,) * BLOCKS, "less than a nanosecond"
    for none in (gauges.assign(unit="count"), gauges[gauges["time"] < 100_000]):
        assert referenced(sample, make, none).reference() == ()


def test_the_workloads_own_reference_is_taken_before_the_workers(sample: Make, make: Any) -> None:
    own = make.reference(TIMES, [50.0] * 200)
    workers = make.reference(TIMES, [9.0] * 200).assign(source="tracekit (MLX)")
    both = referenced(sample, make, pd.concat([own, workers]))
    assert (both.reference(), both.reference_source()) == ((50.0,) * BLOCKS, "workload")
    one = referenced(sample, make, workers)
    assert (one.reference(), one.reference_source()) == ((9.0,) * BLOCKS, "tracekit (MLX)")
    assert Blocks(sample(TIMES)).reference_source() == ""
