"""Levels of memory, from tables that may lack sizes."""

import pandas as pd
import pytest

from tracekit.analysis import upkeep
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
        upkeep.levels(rows, None, (Process("a", 7), Process("b", 8)))
    (level,) = upkeep.levels(rows[rows["pid"] == 7], None, (Process("a", 7),))
    assert level.sizes.tolist() == [100, 200]
