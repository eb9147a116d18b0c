"""What the steady steps moved while the GPU ran."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from counter_runs import M1_MAX, M3_MAX, MS, given, model, steady
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics.roofline import Roof

Make = Callable[..., pd.DataFrame]


def found(machine: dict[str, Any], **tables: pd.DataFrame) -> Roof:
    return given(machine, **tables)["steady_roof"]


def test_bytes_of_all_steady_steps_over_the_time_the_gpu_ran(intervals: Make) -> None:
    work = intervals([(number * MS, MS // 2) for number in range(10)])
    got = found(M1_MAX, gpu_intervals=work, step_models=model(100_000_000), **steady())
    assert (got.moved, got.per_step, got.ran) == (1_000_000_000, 100_000_000, 5 * MS)
    assert got.reached.share == pytest.approx(0.5)
    assert got.least == pytest.approx(1e9 / (0.8 * 400e9) * 1e9)


def test_memory_bounds_by_operations_a_byte(intervals: Make) -> None:
    tables = {"gpu_intervals": intervals([(0, 10 * MS)]), **steady()}

    def by_memory(flops: int, machine: dict[str, Any] = M1_MAX) -> bool | None:
        return found(machine, step_models=model(1_000_000, flops), **tables).by_memory

    assert by_memory(26_000_000) is True  # the ridge of an M1 Max is 26.5
    assert by_memory(27_000_000) is False
    assert by_memory(0) is None
    m3 = {"system": "Darwin", "chip": "Apple M3", "gpu_cores": 10}  # its rate nobody states
    assert by_memory(19_000_000, m3) is True
    assert by_memory(21_000_000, m3) is False


def test_steps_without_work_make_bytes_and_time_of_unlike_things(intervals: Make) -> None:
    cut = intervals([(number * MS, MS) for number in range(9)])
    tables = {"step_models": model(1_000_000), **steady()}
    with pytest.raises(Unavailable, match=r"10\.0 % of the steady steps have no interval"):
        found(M1_MAX, gpu_intervals=cut, **tables)


@pytest.mark.parametrize(
    ("machine", "tables", "reason"),
    [
        ({}, {}, "does not say which chip"),
        ({"chip": "Apple M9"}, {}, "no figures of a chip called"),
        ({**M3_MAX, "gpu_cores": None}, {}, "how many this one has is not known"),
        (M1_MAX, {"step_models": model(0)}, "how many bytes a step moves"),
        (M1_MAX, {"step_models": model(1).iloc[:0]}, "does not say what a step does"),
        (M1_MAX, {"step_models": pd.concat([model(1), model(2)])}, "several variants"),
    ],
)
def test_what_is_missing_is_said(
    machine: dict[str, Any], tables: dict[str, pd.DataFrame], reason: str, intervals: Make
) -> None:
    given_tables = {"step_models": model(1_000_000), **steady(), **tables}
    work = intervals([(0, 10 * MS)])
    with pytest.raises(Unavailable, match=reason):
        found(machine, gpu_intervals=work, **given_tables)


def test_without_marks_or_on_a_cpu_there_is_no_roof(intervals: Make) -> None:
    with pytest.raises(Unavailable, match="no marks of a workload"):
        found(M1_MAX, gpu_intervals=intervals([(0, MS)]))
    host = intervals([(0, MS)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        found(M1_MAX, gpu_intervals=host, step_models=model(1), **steady())
