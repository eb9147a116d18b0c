"""Whether a slower side is bound by compute, memory or the GPU's waits for the host."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from analysed import M1_MAX, MS, TARGETS, intervals, phases, row_of_steps, samples
from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.documents import save
from tracekit.base.recording import Recording
from tracekit.comparison.bound import explain_growth
from tracekit.comparison.samples import Sample
from tracekit.nightly.captures import explain_regression
from tracekit.nightly.history.night import Pair

GPU = replace(M1_MAX, targets=TARGETS, recorder="xctrace")
UNITS = {"gpu_busy": "ns", "gpu_span": "ns", "step_rate": "steps/s"}


def make_result(**values: float) -> Result:
    metrics: list[Measurement] = []
    for name, value in values.items():
        metrics.append(Measurement(name, value, UNITS.get(name, "ratio"), Better.LOWER))
    return Result(GPU, tuple(metrics))


def make_sample(counters: dict[str, float] | None = None, **values: float) -> Sample:
    tables: dict[str, pd.DataFrame] | None = None
    if counters is not None:
        work = intervals([(place * MS, MS) for place in range(100)])
        tables = {
            "gpu_intervals": work,
            "phases": phases(0, 100 * MS),
            "gpu_counters": samples(counters),
        }
    return Sample("a", make_result(**values), tables)


def explain(before: Sample, after: Sample) -> str:
    return explain_growth([before], [after], 0.03)


def make_step(milliseconds: float, idle: float, **more: Any) -> Sample:
    return make_sample(
        more.pop("counters", None),
        gpu_busy=1e9, step_rate=1000 / milliseconds, idle_ratio=idle, **more,
    )  # fmt: skip


def test_added_idle_time_is_synchronization_with_its_cause() -> None:
    before = make_step(10, 0.1, idle_report=0.05, idle_host=0.05)
    after = make_step(15, 0.4, idle_report=0.3, idle_host=0.1)
    assert explain(before, after) == (
        "Synchronization bound: of 5.00 ms more a step, 100.0 % is idle time of the GPU, most of "
        "it idle_report (5.0 % before, 30.0 % after)."
    )


def test_the_largest_of_several_causes_is_not_most_of_the_added_time() -> None:
    before = make_step(10, 0.1, idle_report=0.02, idle_host=0.02, idle_encoding=0.06)
    after = make_step(20, 0.5, idle_report=0.2, idle_host=0.15, idle_encoding=0.15)
    assert explain(before, after).endswith(
        "90.0 % is idle time of the GPU, above all idle_report (2.0 % before, 20.0 % after)."
    )
    # the share of idle_host is the same, and its time rises by 4 of 10 ms
    before = make_step(10, 0.5, idle_report=0.1, idle_host=0.4)
    after = make_step(20, 0.75, idle_report=0.35, idle_host=0.4)
    assert explain(before, after).endswith("most of it idle_report (10.0 % before, 35.0 % after).")


def test_a_cause_that_one_side_did_not_measure_is_not_named() -> None:
    before = make_step(10, 0.1, idle_host=0.1)
    after = make_step(15, 0.4, idle_report=0.3, idle_host=0.1)
    assert explain(before, after).endswith("100.0 % is idle time of the GPU.")
    assert explain(make_step(10, 0.1), after).endswith("100.0 % is idle time of the GPU.")
    after = make_step(15, 0.4, idle_report=0.1, idle_host=0.3)
    assert explain(before, after).endswith("most of it idle_host (10.0 % before, 30.0 % after).")


def test_time_of_another_process_is_not_synchronization() -> None:
    before = make_step(10, 0.1, idle_other_process=0.05, idle_host=0.05)
    words = explain(before, make_step(15, 0.4, idle_other_process=0.3, idle_host=0.1))
    assert words == (
        "Another process on the GPU: of 5.00 ms more a step, 100.0 % is idle time of the GPU, most "
        "of it idle_other_process (5.0 % before, 30.0 % after)."
    )


def test_a_server_is_not_explained_as_its_steps_depend_on_the_load() -> None:
    before = make_step(10, 0.1, request_rate_offered=100.0)
    assert explain(before, make_step(50, 0.1, request_rate_offered=20.0)) == ""
    steps = row_of_steps([10 * MS] * 10, ("", "idle"))
    idling = replace(before, result=make_step(10, 0.1).result, tables={"steps": steps})
    assert explain(idling, make_step(50, 0.1)) == ""
    steady = replace(idling, tables={"steps": row_of_steps([10 * MS] * 10)})
    assert explain(steady, make_step(50, 0.1)) != ""


def test_a_side_of_runs_with_and_without_steps_is_not_explained() -> None:
    spans = {"gpu_busy": 8e9, "gpu_span": 10e9, "idle_ratio": 0.2}
    before = [make_step(10, 0.1, gpu_span=10e9), make_step(10, 0.1, gpu_span=10e9)]
    mixed = [make_step(15, 0.4, gpu_span=15e9), make_sample(**spans), make_sample(**spans)]
    assert explain_growth(before, mixed, 0.03) == ""
    mostly_steps = [*before, make_sample(**spans)]
    assert explain_growth(mostly_steps, [make_sample(**spans)] * 2, 0.03) == ""


def test_loads_of_two_counters_are_named_both() -> None:
    calm = {"ALU Limiter": 30.0, "Last Level Cache Limiter": 40.0, "L1 Cache Limiter": 20.0}
    busy = {"ALU Limiter": 31.0, "Last Level Cache Limiter": 35.0, "L1 Cache Limiter": 80.0}
    words = explain(make_step(10, 0.1, counters=calm), make_step(15, 0.1, counters=busy))
    assert "ALU Limiter 30.0 % before, 31.0 % after" in words
    assert "Last Level Cache Limiter 40.0 % before, L1 Cache Limiter 80.0 % after" in words


def test_added_work_is_bound_by_the_load_that_rose_or_is_highest() -> None:
    calm = {"ALU Limiter": 30.0, "Last Level Cache Limiter": 40.0}
    for counters, bound in (
        ({"ALU Limiter": 31.0, "Last Level Cache Limiter": 80.0}, "Memory bound"),
        ({"ALU Limiter": 90.0, "Last Level Cache Limiter": 41.0}, "Compute bound"),
        (calm, "Memory bound"),
    ):
        before = make_step(10, 0.1, counters=calm)
        words = explain(before, make_step(15, 0.1, counters=counters))
        assert words.startswith(f"{bound}: of 5.00 ms more a step, 90.0 % is work"), counters
        assert "Last Level Cache Limiter 40.0 % before" in words, counters


def test_without_counters_of_both_sides_the_question_stays_open() -> None:
    words = explain(make_step(10, 0.1), make_step(15, 0.1, counters={"ALU Limiter": 90.0}))
    assert words.startswith("Compute or memory bound: of 5.00 ms more a step")
    assert "--counters on" in words


def test_a_recording_without_steps_is_measured_by_its_span() -> None:
    before = make_sample(gpu_busy=10e6, gpu_span=12e6)
    after = make_sample(gpu_busy=10e6, gpu_span=20e6)
    words = explain(before, after)
    assert words == ("Synchronization bound: of 8 ms more, 100.0 % is idle time of the GPU.")
    assert explain(before, make_step(10, 0.1)) == "", "a step and a span are no pair"
    lasting = [
        replace(before, result=replace(before.result, provenance=replace(GPU, duration=seconds)))
        for seconds in (5.0, 10.0)
    ]
    longer = replace(lasting[1], result=replace(lasting[1].result, metrics=after.result.metrics))
    assert explain(lasting[0], longer) == "", "one was recorded for twice the time"
    assert explain(lasting[1], longer) == words
    ended = [
        replace(
            sample,
            result=replace(
                sample.result,
                provenance=replace(sample.result.provenance, end_reason="Target app exited"),
            ),
        )
        for sample in (lasting[0], longer)
    ]
    assert explain(*ended) == words


def test_a_side_that_is_not_slower_or_has_no_gpu_is_not_explained() -> None:
    assert explain(make_step(10, 0.1), make_step(10.2, 0.3)) == ""
    assert explain(make_step(15, 0.1), make_step(10, 0.1)) == ""
    assert explain(make_sample(step_rate=100.0), make_sample(step_rate=50.0)) == ""


def test_a_regression_of_a_night_is_explained_by_its_first_traced_pair(tmp_path: Path) -> None:
    for name, values in (
        ("candidate", {"gpu_busy": 1e9, "step_rate": 50.0, "idle_ratio": 0.6}),
        ("reference", {"gpu_busy": 1e9, "step_rate": 100.0, "idle_ratio": 0.1}),
    ):
        run = Recording(tmp_path / name)
        run.folder.mkdir()
        run.save_provenance(GPU)
        save(run.result_file, make_result(**values))
    traced = Pair(session=1, number=1, order="ab", traced=True, runs=("candidate", "reference"))
    words = explain_regression((replace(traced, traced=False), traced), tmp_path)
    assert words == (
        "Synchronization bound: of 10 ms more a step, 100.0 % is idle time of the GPU."
    )
    rejected = replace(traced, rejections=("hot",))
    assert explain_regression((rejected,), tmp_path) == ""
    gone = replace(traced, runs=("candidate", "none"))
    assert explain_regression((gone,), tmp_path) == ""
