"""`gpu-contended`: other processes on the GPU."""

import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.rule import Evidence

MS = 1_000_000


def test_work_beside_the_targets_is_named_with_its_owner() -> None:
    frame = intervals([(0, 10 * MS), (10 * MS, 10 * MS)], others=[(5 * MS, 2 * MS), (30 * MS, MS)])
    [finding] = judged("gpu-contended", gpu_intervals=frame)
    assert "WindowServer (420)" in finding.message
    assert "10.0 % in all" in finding.message
    assert finding.evidence == (Evidence("gpu_intervals", 5 * MS, 7 * MS),)


def test_rows_without_a_process_are_said_to_be_unknown() -> None:
    frame = intervals([(0, 10 * MS)], others=[(0, 5 * MS)])
    frame.loc[~frame["target"], ["process", "pid"]] = pd.NA
    [finding] = judged("gpu-contended", gpu_intervals=frame)
    assert "unknown process" in finding.message


def test_what_others_delayed_could_be_saved() -> None:
    late = [1_000, 9 * MS]  # committed 1 ms into the gap, while the other had begun
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)], [(5 * MS, 9 * MS)], latencies=late)
    frame = frame.assign(channel="Compute")
    driver = pd.DataFrame(
        {"start": [0], "duration": pd.array([1], dtype="Int64"), "target": [True], "depth": [0]}
    )
    events = driver.iloc[:0].assign(event="")
    tables = {"gpu_intervals": frame, "driver_intervals": driver, "driver_events": events}
    [finding] = judged("gpu-contended", **tables)
    assert finding.saving == 8 * MS
    [finding] = judged("gpu-contended", gpu_intervals=frame)
    assert finding.saving is None


@pytest.mark.parametrize(
    ("own", "others", "window", "found"),
    [
        ([(0, 5), (15, 5)], [(5, 10)], None, False),  # while the target has nothing
        ([(0, 100)], [(0, 4), (1, 3)], None, False),  # overlaps count once
        ([(0, 100)], [(0, 5)], None, False),
        ([(0, 100)], [(0, 4), (95, 2)], None, True),
        ([(100, 100)], [(0, 90)], (100, 100), False),  # outside of the steady window
    ],
)
def test_only_what_runs_beside_the_targets_work_counts(
    own: list[tuple[int, int]],
    others: list[tuple[int, int]],
    window: tuple[int, int] | None,
    *,
    found: bool,
) -> None:
    rows = [[(start * MS, length * MS) for start, length in each] for each in (own, others)]
    tables = {"gpu_intervals": intervals(*rows)}
    if window is not None:
        tables["phases"] = phases(*(at * MS for at in window))
    assert bool(judged("gpu-contended", **tables)) == found
