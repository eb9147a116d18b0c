"""Where the phases of a run lie, whatever it marked."""

from typing import Any

from tracekit.analysis.intervals import Window
from tracekit.report.panel import marked_window, phase_begins, steady_or_busy_window
from tracekit.report.plots import Moment

RAN = [
    {"start": 7, "duration": 5, "target": True},
    {"start": 1, "duration": 90, "target": False},
]
WARM = {"name": "warm-up", "start": 0, "duration": 10}
STEADY = {"name": "steady", "start": 10, "duration": 20}


def test_the_workloads_marks_are_the_window(frame: Any) -> None:
    tables = {
        "phases": frame("phases", [WARM, STEADY]),
        "gpu_intervals": frame("gpu_intervals", RAN),
    }
    assert (
        marked_window(tables)
        == steady_or_busy_window(tables)
        == Window(10, 30, "the steady window")
    )
    assert phase_begins(tables) == [Moment(0.0, "warm-up"), Moment(10.0, "steady")]


def test_without_a_steady_phase_there_is_only_the_time_of_the_target(frame: Any) -> None:
    for phases in ({}, {"phases": frame("phases", [WARM])}):
        tables = {**phases, "gpu_intervals": frame("gpu_intervals", RAN)}
        assert marked_window(tables) is None
        busy = steady_or_busy_window(tables)
        assert busy is not None
        assert (busy.start, busy.end) == (7, 12)


def test_a_run_without_tables_has_neither() -> None:
    assert (marked_window({}), steady_or_busy_window({}), phase_begins({})) == (None, None, [])
