"""What panels ask of tables: rows of whom, from whose clock, in which window; and their words."""

import inspect
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from report_runs import host_run
from tracekit.analysis.analyze import used_tables
from tracekit.analysis.given import GIVEN, Given
from tracekit.analysis.intervals import Window
from tracekit.analysis.metrics import METRICS
from tracekit.base.errors import InputError
from tracekit.base.recording import Provenance
from tracekit.pages.panel import (
    marked_window,
    meaning,
    of_metric,
    of_table,
    of_target,
    rows,
    steady_or_busy_window,
)
from tracekit.pages.panels.health import Gate, gates
from tracekit.pages.text import LONGEST, flat, heading, line, sentence
from tracekit.tables.schemas import SCHEMAS
from typed_rows import frame, frames


class Damaged(dict[str, Any]):
    """Tables of which one cannot be read; counts how often it was tried."""

    tried = 0

    def __getitem__(self, name: str) -> Any:
        if name != "encoders":
            return super().__getitem__(name)
        self.tried += 1
        raise InputError("The export is cut.")


def gate_of(tables: Any, name: str) -> Gate:
    gates_by_table = {gate.table: gate for gate in gates(tables)}
    assert set(gates_by_table) == used_tables()
    return gates_by_table[name]


def test_rows_are_the_targets_and_those_of_others_are_counted() -> None:
    two = [{"start": 1, "target": True, "clock": "host"}, {"start": 2, "target": False}]
    tables = frames(gpu_intervals=two)
    target_rows = of_target(tables, "gpu_intervals")
    assert (target_rows.frame["start"].tolist(), target_rows.clock, target_rows.absence) == (
        [1],
        "host",
        "",
    )
    tables["gpu_intervals"] = tables["gpu_intervals"].iloc[1:]
    absence = "none of the 1 rows of gpu_intervals belongs to the target"
    assert of_target(tables, "gpu_intervals").absence == absence
    mixed_intervals = frame(
        "gpu_intervals", [{"start": 1, "clock": "host"}, {"start": 2, "clock": "gpu"}]
    )
    assert rows({"gpu_intervals": mixed_intervals}, "gpu_intervals").clock == "gpu and host"


def test_no_rows_no_rows_of_the_target_no_table_and_a_damaged_one_differ() -> None:
    emptied = gate_of({"steps": host_run().tables["steps"][:0]}, "steps")
    assert (emptied.rows, emptied.empty) == (0, True)
    assert emptied.absence == "the table steps has no rows"
    theirs = frame("gpu_intervals", [{"start": 5, "duration": 5, "target": False}])
    gate = gate_of({**host_run().tables, "gpu_intervals": theirs}, "gpu_intervals")
    assert (gate.rows, gate.own, gate.empty, gate.absence) == (1, 0, True, "")
    damaged = Damaged()
    for tables, words in ((host_run().tables, "has no table"), (damaged, "export is cut")):
        gate = gate_of(Given(tables, Provenance()), "encoders")
        assert (gate.rows, gate.empty) == (None, False), words
        assert words in gate.absence
    assert damaged.tried == 1


def test_the_window_is_the_marked_one_else_that_of_the_targets_work() -> None:
    intervals = [{"start": 7, "duration": 5, "target": True}, {"start": 1, "duration": 90}]
    phases = [
        {"name": "warm-up", "start": 0, "duration": 10},
        {"name": "steady", "start": 10, "duration": 20},
    ]
    tables = frames(phases=phases, gpu_intervals=intervals)
    marked = marked_window(tables)
    assert marked == steady_or_busy_window(tables) == Window(10, 30, "the steady window")
    for less in ({}, {"phases": tables["phases"].iloc[:1]}):
        without = {**less, "gpu_intervals": tables["gpu_intervals"]}
        busy = steady_or_busy_window(without)
        assert busy is not None, less
        assert (marked_window(without), busy.start, busy.end) == (None, 7, 12), less
    assert (marked_window({}), steady_or_busy_window({})) == (None, None)


def test_a_number_says_whose_clock_it_is_of() -> None:
    for table, clock, words in (
        ("gpu_intervals", "host", "work on the CPU, host clock; no GPU was measured"),
        ("gpu_intervals", "gpu", "GPU times, from the trace"),
        ("driver_intervals", "gpu", "CPU times, on the trace's clock"),
        ("phases", "gpu", "the program's own signposts, on the trace's clock"),
        ("phases", "host", "the workload's own marks, host clock"),
        ("gpu_counters", "gpu", "counters of the GPU, samples in the target's work"),
        ("encoders", None, "clock not stated"),
    ):
        assert of_table({table: frame(table, [{"start": 1, "clock": clock}])}, table) == words


def test_tables_and_metrics_of_the_analysis_come_from_the_first_recorded_one() -> None:
    tables = host_run().tables
    assert of_table(tables, "gaps") == of_table(tables, "gpu_intervals")
    assert of_table(tables, "counter_means") == "the recording has no table gpu_counters"
    assert of_metric(tables, "step_p50") == "the workload's own marks, host clock"
    assert of_metric(tables, "of_the_future") == "source not stated"
    for name, metric in METRICS.items():
        assert next(iter(inspect.signature(metric.measure).parameters)) in {*SCHEMAS, *GIVEN}, name
        assert meaning(name)
        assert "`" not in meaning(name)


@given(st.text())
def test_a_line_is_one_line_and_can_be_read_back_whatever_it_was(text: str) -> None:
    clean_line = line(text)
    assert clean_line.encode().decode() == clean_line
    assert len(clean_line) <= LONGEST
    assert "\n" not in clean_line
    assert line(clean_line) == clean_line


def test_words_are_made_fit_for_their_place() -> None:
    for word, raw, expected_text in (
        (line, "  a \n\t b  ", "a b"),
        (line, "x" * LONGEST, "x" * LONGEST),
        (line, "x" * (LONGEST + 1), "x" * (LONGEST - 1) + "…"),
        (heading, "gpu_idle_ratio", "GPU idle ratio"),
        (heading, "host_cpu", "Host CPU"),
        (heading, "", ""),
        (heading, "pp512_tokens_per_second", "pp512 tokens per second"),
        (heading, "e2e_p50", "E2E p50"),
        (sentence, "it was not measured", "It was not measured."),
        (sentence, "Why?", "Why?"),
        (sentence, "", ""),
    ):
        assert word(raw) == expected_text


def test_nested_values_become_lines() -> None:
    values = {"chip": "M1", "mlx": {"version": "0.32", "devices": ["cpu", "gpu"]}, "os_build": None}
    assert [f"{name}: {words}" for name, words in flat(values)] == [
        *("chip: M1", "mlx version: 0.32", "mlx devices: cpu, gpu", "os build: not available")
    ]
