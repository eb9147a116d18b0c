"""Runs made to time pages with, and what is told of the times."""

import numpy as np
import pytest

from paging.frames import Made
from paging.made_run import provenance, tables
from tracekit.analysis.analyze import analyze
from tracekit.pages.timeline.packing import Tick
from tracekit.pages.timeline.tracks import timeline
from tracekit.tables.schemas import SCHEMAS

COUNT = 2_000


@pytest.fixture(scope="module")
def made() -> Made:
    return tables(COUNT)


def test_tables_have_the_columns_and_types_of_the_readers(made: Made) -> None:
    for name in made:
        assert list(made[name]) == [column.name for column in SCHEMAS[name].columns], name
    assert str(made["gpu_intervals"]["command_buffer"].dtype) == "UInt64"
    assert made["gpu_counters"]["percentage"].all()


def test_the_targets_work_never_overlaps_and_falls_on_the_ticks_of_a_mac(made: Made) -> None:
    target_rows = made["gpu_intervals"].query("target")
    starts = target_rows["start"].to_numpy(np.int64)
    ends = starts + target_rows["duration"].to_numpy(np.int64)
    assert (starts[1:] >= ends[:-1]).all()
    assert Tick(125, 3).holds(starts)
    assert Tick(125, 3).holds(ends)


def test_a_made_run_can_be_judged_and_drawn(made: Made) -> None:
    result = analyze(made, provenance())
    names = [track.name for track in timeline(result, made).tracks]
    assert {"Steps", "Submissions", "GPU Compute", "Driver", "In flight", "WindowServer"} <= {
        *names
    }
