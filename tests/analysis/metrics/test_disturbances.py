"""What disturbs the steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics.device import other_process_share, steady_compiles

Make = Callable[..., pd.DataFrame]


def activity(own: list[int], service: list[int]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [*own, *service],
            "duration": pd.array([5] * (len(own) + len(service)), dtype="Int64"),
            "target": [True] * len(own) + [False] * len(service),
            "process": pd.array(
                ["python3"] * len(own) + ["MTLCompilerService"] * len(service), dtype="string"
            ),
        }
    )


def made(times: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"time": times, "name": [f"paged_{time}" for time in times]})


@pytest.fixture
def work(intervals: Make) -> pd.DataFrame:
    return intervals([(0, 400)])


@pytest.mark.parametrize(
    ("counted", "count"),
    [
        ((activity([50, 99], []), None), 0),
        ((activity([99, 100, 399, 400], []), None), 2),
        ((None, made([10, 150])), 1),
        ((activity([120], []), made([110, 115, 150])), 3),
        ((activity([120, 130], []), made([110])), 2),
        ((activity([], []), made([])), 0),
        ((activity([50], [120]), None), 0),
        ((activity([], [120]), made([150])), 1),
    ],
)
def test_pipelines_of_the_steady_window_are_counted(
    counted: tuple[pd.DataFrame | None, pd.DataFrame | None],
    count: int,
    work: pd.DataFrame,
    targets: pd.DataFrame,
    phases: Make,
) -> None:
    assert steady_compiles.measure(work, targets, phases(100, 300), *counted) == count


def test_a_compiler_under_its_own_name_is_no_zero(
    work: pd.DataFrame, targets: pd.DataFrame, phases: Make
) -> None:
    with pytest.raises(Unavailable, match="worked 2 times under its own name"):
        steady_compiles.measure(work, targets, phases(100, 300), activity([], [120, 130]), None)


def test_without_any_count_there_is_none(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="neither compiler activity"):
        steady_compiles.measure(work, targets, None, None, None)


def test_on_a_cpu_the_workload_counts(intervals: Make, targets: pd.DataFrame, phases: Make) -> None:
    frame = intervals([(0, 400)], clock="host")
    assert steady_compiles.measure(frame, targets, phases(100, 300), None, made([150])) == 1
    with pytest.raises(Unavailable, match="the workload names no pipelines"):
        steady_compiles.measure(frame, targets, phases(100, 300), None, made([]))


def test_the_share_of_others_is_of_busy_time(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    frame = intervals([(100, 60), (200, 40)], others=[(0, 120), (150, 20), (390, 90)])
    # Busy are 100 to 170, 200 to 240 and 390 to 400; others had 100 to 120, 150 to 170, and
    # 390 to 400.
    assert other_process_share.measure(frame, targets, phases(100, 300)) == 50 / 120


def test_without_others_the_share_is_zero(intervals: Make, targets: pd.DataFrame) -> None:
    assert other_process_share.measure(intervals([(0, 10)]), targets, None) == 0


def test_a_gpu_that_did_nothing_has_no_shares(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    with pytest.raises(Unavailable, match="the GPU did nothing in the steady window"):
        other_process_share.measure(intervals([(0, 10)]), targets, phases(100, 300))


def test_a_cpu_has_no_share_of_a_gpu(intervals: Make, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        other_process_share.measure(intervals([(0, 10)], clock="host"), targets, None)
