"""Runs made to time pages with, and what is told of the times."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from paging.frames import Made
from paging.made_run import provenance, tables
from paging.run_folder import write_run
from paging.stages import describe_costs, measure_stages
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


def test_the_stages_of_a_made_run_cost_time_and_memory(tmp_path: Path) -> None:
    write_run(tmp_path / "made", COUNT)
    pythons = {"here": Path(sys.executable)}
    costs = measure_stages(tmp_path / "made", pythons, 1, tmp_path)
    [analysis] = costs["here"]["analyze"]
    assert analysis.seconds > 0
    assert analysis.memory > 10_000_000
    assert (tmp_path / "run" / "report.html").exists()
    lines = dict(describe_costs(costs))
    assert list(lines) == ["analyze, here", "report, here"]
    assert "(x 1.00), " in lines["report, here"]


PEAKS = """
import sys, tracemalloc
from pathlib import Path
import pyarrow as pa
from tracekit import pipeline
from tracekit.base import Recording

recording = Recording(Path(sys.argv[1]))
tracemalloc.start(1)
pipeline.analyze(recording)
print(tracemalloc.get_traced_memory()[1])
tracemalloc.reset_peak()
pipeline.report(recording)
print(tracemalloc.get_traced_memory()[1])
print(pa.default_memory_pool().max_memory())
"""
FEW, MANY = 110_000, 170_000


def test_an_interval_more_takes_few_bytes_of_memory(tmp_path: Path) -> None:
    """The most that is allocated at once, in a process of its own; what a run costs is apart."""
    peaks: list[NDArray[np.int64]] = []
    for count in (FEW, MANY):
        folder = tmp_path / str(count)
        write_run(folder, count)
        printed = subprocess.run(
            (sys.executable, "-c", PEAKS, folder), stdout=subprocess.PIPE, text=True, check=True
        )
        peaks.append(np.array(printed.stdout.split(), np.int64))
    analysis, page, arrow = ((peaks[1] - peaks[0]) / (MANY - FEW)).tolist()
    assert analysis < 450
    assert page < 640  # which holds each of so few
    assert arrow < 360
