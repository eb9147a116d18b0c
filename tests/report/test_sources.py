import inspect
from typing import Any

import pytest

from tracekit.analysis.given import GIVEN
from tracekit.analysis.metrics import METRICS
from tracekit.report.panel import meaning, of_metric, of_table
from tracekit.tables.schemas import SCHEMAS


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("gpu_intervals", "work on the CPU, host clock; no GPU was measured"),
        ("steps", "the workload's own marks, host clock"),
        ("specializations", "the workload's own marks, host clock"),
        ("encoders", "the recording has no table encoders"),
    ],
)
def test_a_host_recording_never_pretends_to_be_a_gpus(
    host_run: Any, table: str, words: str
) -> None:
    assert of_table(host_run.tables, table) == words


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("gpu_intervals", "GPU times, from the trace"),
        ("driver_intervals", "CPU times, on the trace's clock"),
    ],
)
def test_a_trace_tells_gpu_times_from_cpu_times(trace_run: Any, table: str, words: str) -> None:
    assert of_table(trace_run.tables, table) == words


def test_phases_of_a_program_s_signposts_are_no_workload_s_marks(frame: Any) -> None:
    own = {"start": 1, "duration": 2, "name": "steady"}
    for clock, words in (("gpu", "own signposts"), ("host", "the workload's own marks")):
        tables = {"phases": frame("phases", [{**own, "clock": clock}])}
        assert words in of_table(tables, "phases")


def test_a_metric_comes_from_the_first_table_that_it_asks_for(host_run: Any) -> None:
    assert of_metric(host_run.tables, "step_p50") == "the workload's own marks, host clock"
    assert of_metric(host_run.tables, "host_busy").startswith("work on the CPU")
    assert of_metric(host_run.tables, "of_the_future") == "source not stated"


@pytest.mark.parametrize("name", METRICS)
def test_the_first_parameter_of_every_metric_is_a_table(name: str) -> None:
    assert next(iter(inspect.signature(METRICS[name].measure).parameters)) in {*SCHEMAS, *GIVEN}
    assert meaning(name)
    assert "`" not in meaning(name)


def test_a_table_of_the_analysis_comes_from_the_first_recorded_one(host_run: Any) -> None:
    assert of_table(host_run.tables, "gaps") == of_table(host_run.tables, "gpu_intervals")
    assert of_table(host_run.tables, "counter_means") == "the recording has no table gpu_counters"


def test_counters_are_no_times(frame: Any) -> None:
    tables = {"gpu_counters": frame("gpu_counters", [{"start": 1, "clock": "gpu"}])}
    assert of_table(tables, "counter_means").startswith("counters of the GPU")
