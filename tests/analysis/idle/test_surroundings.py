"""What went on around idle time, as gathered from the tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.idle.work import Surroundings, surroundings, without_load
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet

MS = 1_000_000
Make = Callable[..., pd.DataFrame]


def at(*moments: float) -> np.ndarray:
    return np.array([round(one * MS) for one in moments], np.int64)


def around(
    others: pd.DataFrame | None = None,
    driver: pd.DataFrame | None = None,
    compiler: pd.DataFrame | None = None,
    awake: pd.DataFrame | None = None,
    annotations: pd.DataFrame | None = None,
) -> Surroundings:
    none = pd.DataFrame({"start": [], "duration": []}).astype("Int64")
    others = none if others is None else others
    return surroundings(IntervalSet.empty(), others, driver, compiler, awake, annotations, None)


def test_what_has_no_table_was_nowhere_seen() -> None:
    seen, moments = around(), at(0, 5)
    assert seen.bounds.tolist() == []
    assert seen.annotated == {}
    for flags in (
        seen.others.contains(moments),
        seen.driving(moments, at(0, 0)),
        seen.compiling(moments),
        seen.reading_back(moments),
        seen.asleep(moments, at(9, 9)),
    ):
        assert flags.tolist() == [False, False]


def test_the_bounds_are_those_of_all_of_it(rows: Make, named: Make) -> None:
    seen = surroundings(
        IntervalSet.of(at(1), at(2)),
        rows((3, 1, 0), target=False),
        rows((5, 1, 0)),
        rows((7, 1, 0)),
        rows((9, 1, 0)).drop(columns="target"),
        named(("sample", 11, 1)),
        rows((13, 1, 0), (15, 1, 0)).assign(event=["Wire Memory", "Other"]),
    )
    assert sorted(set(seen.bounds.tolist())) == at(*range(1, 15)).tolist()


def test_wiring_memory_is_told_from_the_drivers_other_work(rows: Make) -> None:
    wired = rows((1, 3, 0)).assign(event="Wire Memory")
    none = rows((0, 1, 0), target=False).iloc[:0]
    seen = surroundings(IntervalSet.empty(), none, rows((2, 4, 0)), None, None, None, wired)
    assert seen.driver.bounds.tolist() == at(2, 6).tolist()
    assert seen.wiring.bounds.tolist() == at(1, 4).tolist()


def test_others_are_counted_though_they_are_not_the_target(rows: Make) -> None:
    seen = around(others=rows((3, 2, 0), target=False))
    assert seen.others.contains(at(2, 3, 4, 5)).tolist() == [False, True, True, False]


def test_driver_and_compiler_are_counted_for_the_target_alone(rows: Make) -> None:
    seen = around(
        driver=pd.concat([rows((0, 2, 0)), rows((4, 2, 0), target=False)]),
        compiler=pd.concat([rows((10, 2, 0)), rows((14, 2, 0), target=False)]),
    )
    assert seen.driving(at(1, 5), at(0, 4)).tolist() == [True, False]
    assert seen.compiling(at(11, 15)).tolist() == [True, False]


def test_the_driver_takes_buffers_in_order(rows: Make) -> None:
    """What it does after the first buffer that it begins is for later ones."""
    seen = around(driver=rows((10, 3, 0), (20, 3, 0)))
    moments = at(11, 21, 21, 21)
    handed_over = at(9, 9, 10.5, 19)
    assert seen.driving(moments, handed_over).tolist() == [True, False, True, True]


def test_behind_the_last_buffer_the_drivers_work_may_be_for_any(rows: Make) -> None:
    seen = around(driver=rows((10, 3, 0)))
    assert seen.driving(at(12, 13), at(11, 11)).tolist() == [True, False]


def test_an_encoder_within_a_buffer_is_no_buffer_of_its_own(rows: Make) -> None:
    """Else the driver would be through with the buffer at the end of its first encoder."""
    driver = rows((10, 6, 0), (11, 1, 0)).assign(depth=pd.array([0, 1], dtype="Int64"))
    starts, ends = around(driver=driver).prepared
    assert (starts.tolist(), ends.tolist()) == (at(10).tolist(), at(16).tolist())
    assert around(driver=driver).driving(at(14), at(9)).tolist() == [True]


def test_a_row_of_unknown_depth_is_a_buffer_and_rows_come_in_any_order(rows: Make) -> None:
    driver = rows((20, 1, 0), (10, 1, 0)).assign(depth=pd.array([None, None], dtype="Int64"))
    starts, ends = around(driver=driver).prepared
    assert (starts.tolist(), ends.tolist()) == (at(10, 20).tolist(), at(11, 21).tolist())


def test_pipelines_are_made_by_the_compilers_rows_or_the_workloads_word(
    rows: Make, named: Make
) -> None:
    annotations = named(("compile", 5, 1), ("readback", 7, 1))
    seen = around(compiler=rows((1, 1, 0)), annotations=annotations)
    assert seen.compiling(at(1, 3, 5, 7)).tolist() == [True, False, True, False]
    assert seen.reading_back(at(1, 3, 5, 7)).tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("moment", "until", "asleep"),
    [
        (1, 3, True),  # it woke just then
        (1, 2.5, False),  # it woke later than the work began
        (4, 9, False),  # awake
        (6, 9, False),  # never seen to wake again
    ],
)
def test_asleep_is_in_no_state_and_woken_in_time(
    rows: Make, moment: float, until: float, asleep: bool
) -> None:
    seen = around(awake=rows((3, 2, 0)).drop(columns="target"))
    assert seen.asleep(at(moment), at(until)).tolist() == [asleep]


def test_nothing_wakes_a_device_that_no_table_saw() -> None:
    assert around().asleep(at(1), np.array([FOREVER - 1])).tolist() == [False]


def test_spans_are_gathered_by_name_and_those_without_work_left_out(named: Make) -> None:
    annotations = named(
        ("sample", 0, 2), ("sample", 1, 3), ("admit", 9, 1), ("idle", 20, 5), ("reference", 30, 5)
    )
    seen = around(annotations=annotations)
    assert list(seen.annotated) == ["admit", "sample"]
    assert seen.annotated["sample"].bounds.tolist() == at(0, 4).tolist()


def test_a_span_without_a_name_says_nothing(named: Make) -> None:
    annotations = named(("sample", 0, 1), ("x", 5, 1))
    annotations.loc[1, "name"] = pd.NA
    assert list(around(annotations=annotations).annotated) == ["sample"]


def test_without_load_is_where_the_workload_waited_or_timed_its_reference(named: Make) -> None:
    annotations = named(("idle", 0, 2), ("sample", 2, 2), ("reference", 4, 1), ("idle", 5, 1))
    assert without_load(annotations, None).bounds.tolist() == at(0, 4, 2, 6).tolist()


def test_there_is_always_load_where_nobody_says_otherwise(named: Make) -> None:
    assert without_load(None, None).bounds.tolist() == []
    assert without_load(named(("sample", 0, 2)), None).bounds.tolist() == []


def test_a_moment_before_all_is_in_none_of_it(rows: Make) -> None:
    seen = around(driver=rows((0, 1, 0)), awake=rows((0, 1, 0)).drop(columns="target"))
    early = np.array([NEVER])
    assert seen.driving(early, early).tolist() == [False]
