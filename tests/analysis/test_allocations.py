"""Levels of memory, from tables that may lack sizes, and stretches full of allocations."""

import numpy as np
import pandas as pd
import pytest

from analysed import table
from tracekit.analysis import allocations, memory_levels
from tracekit.analysis.inject import Unavailable
from tracekit.base.recording import Process


def test_a_process_without_sizes_makes_the_level_unknown() -> None:
    rows = pd.DataFrame(
        {
            "pid": pd.array([7, 7, 8], dtype="Int64"),
            "start": pd.array([0, 5, 1], dtype="Int64"),
            "duration": pd.array([5, 5, 9], dtype="Int64"),
            "size": pd.array([100, 200, None], dtype="Int64"),
            "process": ["a", "a", "b"],
            "target": [True, True, True],
        }
    )
    with pytest.raises(Unavailable, match="without a size"):
        memory_levels.levels(rows, None, (Process("a", 7), Process("b", 8)))
    (level,) = memory_levels.levels(rows[rows["pid"] == 7], None, (Process("a", 7),))
    assert level.sizes.tolist() == [100, 200]


@pytest.mark.parametrize(
    ("times", "allocates"),
    [
        pytest.param((110, 130, 150, 170, 190), True, id="all the while"),
        pytest.param((120, 140, 160, 180), True, id="most of the time"),
        pytest.param((110, 150, 190), False, id="few"),
        pytest.param((196, 197, 198, 199), False, id="before the work behind it"),
        pytest.param((101, 102, 103, 197, 198, 199), False, id="at both ends"),
        pytest.param((210, 230, 250, 270, 290), False, id="elsewhere"),
    ],
)
def test_a_host_that_allocates_throughout_a_stretch_works(
    times: tuple[int, ...], allocates: bool
) -> None:
    resources = table("time", *((time,) for time in times), unit=1, event="Allocation", target=True)
    starts, ends = np.array([0, 100]), np.array([50, 200])
    assert allocations.find_allocating(resources, starts, ends).tolist() == [False, allocates]
    others = resources.assign(target=False)
    assert not allocations.find_allocating(others, starts, ends).any()
