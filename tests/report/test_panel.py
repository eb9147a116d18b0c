"""What panels ask of tables: rows of whom, from whose clock, in which window; names in words."""

import inspect
from typing import Any

import pytest

from tracekit.analysis.analyze import used_tables
from tracekit.analysis.given import GIVEN, Given
from tracekit.analysis.intervals import Window
from tracekit.analysis.metrics import METRICS
from tracekit.base.capabilities import Capabilities, Identity
from tracekit.base.errors import InputError
from tracekit.base.recording import Provenance
from tracekit.report.panel import (
    marked_window,
    meaning,
    of_metric,
    of_table,
    of_target,
    rows,
    steady_or_busy_window,
)
from tracekit.report.panels.health import Gate, clock_words, counter_set, gates, health
from tracekit.tables.schemas import SCHEMAS


class Damaged(dict[str, Any]):
    """Tables of which one cannot be read; counts how often it was tried."""

    tried = 0

    def __getitem__(self, name: str) -> Any:
        if name != "encoders":
            return super().__getitem__(name)
        self.tried += 1
        raise InputError("The export is cut.")


def gate_of(tables: Any, name: str) -> Gate:
    found = {gate.table: gate for gate in gates(tables)}
    assert set(found) == used_tables()
    return found[name]


def test_rows_are_the_targets_and_those_of_others_are_counted(frame: Any) -> None:
    given = [{"start": 1, "target": True, "clock": "host"}, {"start": 2, "target": False}]
    tables = {"gpu_intervals": frame("gpu_intervals", given)}
    own = of_target(tables, "gpu_intervals")
    assert (own.frame["start"].tolist(), own.clock, own.absence) == ([1], "host", "")
    tables["gpu_intervals"] = tables["gpu_intervals"].iloc[1:]
    assert of_target(tables, "gpu_intervals").absence == (
        "none of the 1 rows of gpu_intervals belongs to the target"
    )
    both = frame("gpu_intervals", [{"start": 1, "clock": "host"}, {"start": 2, "clock": "gpu"}])
    assert rows({"gpu_intervals": both}, "gpu_intervals").clock == "gpu and host"


def test_no_rows_no_rows_of_the_target_no_table_and_a_damaged_one_differ(
    host_run: Any, frame: Any
) -> None:
    emptied = gate_of(host_run.emptied().tables, "steps")
    assert (emptied.rows, emptied.empty, emptied.absence) == (
        *(0, True),
        "the table steps has no rows",
    )
    theirs = frame("gpu_intervals", [{"start": 5, "duration": 5, "target": False}])
    gate = gate_of({**host_run.tables, "gpu_intervals": theirs}, "gpu_intervals")
    assert (gate.rows, gate.own, gate.empty, gate.absence) == (1, 0, True, "")
    damaged = Damaged()
    for tables, words in ((host_run.tables, "has no table"), (damaged, "export is cut")):
        gate = gate_of(Given(tables, Provenance()), "encoders")
        assert (gate.rows, gate.empty) == (None, False)
        assert words in gate.absence
    assert damaged.tried == 1


def test_the_window_is_the_marked_one_else_that_of_the_targets_work(frame: Any) -> None:
    ran = [
        {"start": 7, "duration": 5, "target": True},
        {"start": 1, "duration": 90, "target": False},
    ]
    phases = [
        {"name": "warm-up", "start": 0, "duration": 10},
        {"name": "steady", "start": 10, "duration": 20},
    ]
    tables = {"phases": frame("phases", phases), "gpu_intervals": frame("gpu_intervals", ran)}
    marked = marked_window(tables)
    assert marked == steady_or_busy_window(tables) == Window(10, 30, "the steady window")
    for less in ({}, {"phases": tables["phases"].iloc[:1]}):
        without = {**less, "gpu_intervals": tables["gpu_intervals"]}
        busy = steady_or_busy_window(without)
        assert busy is not None
        assert (marked_window(without), busy.start, busy.end) == (None, 7, 12)
    assert (marked_window({}), steady_or_busy_window({})) == (None, None)


@pytest.mark.parametrize(
    ("table", "clock", "words"),
    [
        ("gpu_intervals", "host", "work on the CPU, host clock; no GPU was measured"),
        ("gpu_intervals", "gpu", "GPU times, from the trace"),
        ("driver_intervals", "gpu", "CPU times, on the trace's clock"),
        ("phases", "gpu", "the program's own signposts, on the trace's clock"),
        ("phases", "host", "the workload's own marks, host clock"),
        ("gpu_counters", "gpu", "counters of the GPU, samples in the target's work"),
        ("encoders", None, "clock not stated"),
    ],
)
def test_a_number_says_whose_clock_it_is_of(
    frame: Any, table: str, clock: str | None, words: str
) -> None:
    assert of_table({table: frame(table, [{"start": 1, "clock": clock}])}, table) == words


def test_tables_and_metrics_of_the_analysis_come_from_the_first_recorded_one(
    host_run: Any,
) -> None:
    tables = host_run.tables
    assert of_table(tables, "gaps") == of_table(tables, "gpu_intervals")
    assert of_table(tables, "counter_means") == "the recording has no table gpu_counters"
    assert of_metric(tables, "step_p50") == "the workload's own marks, host clock"
    assert of_metric(tables, "of_the_future") == "source not stated"
    for name, metric in METRICS.items():
        assert next(iter(inspect.signature(metric.measure).parameters)) in {*SCHEMAS, *GIVEN}
        assert meaning(name)
        assert "`" not in meaning(name)


@pytest.mark.parametrize(
    ("recorder", "clock", "marked", "words"),
    [
        ("host", {"origin": 1}, True, "the marks and the samples are of one clock of the host"),
        ("import", {}, False, "there are no marks: no workload reported its phases or steps"),
        ("import", {}, True, "not known: the recording does not say how its clocks are aligned"),
        ("xctrace", {"epoch": 5}, True, "the marks tell no time that the trace tells too"),
        ("xctrace", {"origin": 5, "source": "s", "uncertainty": 1_200_000}, True, "1.20 ms"),
    ],
)
def test_how_the_marks_came_onto_the_traces_time_is_said(
    recorder: str, clock: dict[str, Any], *, marked: bool, words: str
) -> None:
    assert words in clock_words(Provenance(recorder=recorder, clock=clock), marked=marked)


def test_a_counter_set_that_is_not_named_or_not_on_is_told_from_one_that_is(
    paced_run: Any,
) -> None:
    xctrace, named = Provenance(recorder="xctrace"), paced_run.tables
    off = {"settings": named["settings"].assign(setting="Counter Set: (null)")}
    assert counter_set(Provenance(recorder="host"), named).startswith("none: the host recorder")
    assert counter_set(xctrace, named) == "Performance Limiters; 120 samples of counters"
    assert counter_set(xctrace, off) == "none is switched on; no samples of counters"
    assert counter_set(xctrace, {}).startswith("not known, because no table of contents")


def test_what_a_warning_says_already_is_no_remark(paced_run: Any) -> None:
    known = Capabilities(Identity(chip="Apple M1"), "2026-11-20T10:15:03+00:00")
    provenance = Provenance(warnings=("It is cut.",), capabilities=known)
    context = health.context(paced_run.having(provenance=provenance).result, paced_run.tables)
    assert (context["remarks"], context["capabilities"]) == ([], known)
    assert health.context(paced_run.result, paced_run.tables)["remarks"] == ["It is cut."]
