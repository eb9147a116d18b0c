"""What went on around idle time, as gathered from the tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.idle.work import Surroundings, surroundings, without_load
from tracekit.analysis.intervals import FOREVER, IntervalSet

MS = 1_000_000
Make = Callable[..., pd.DataFrame]


def at(*moments: float) -> np.ndarray:
    return np.array([round(one * MS) for one in moments], np.int64)


def around(
    driver: pd.DataFrame | None = None,
    awake: pd.DataFrame | None = None,
    annotations: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
) -> Surroundings:
    none = pd.DataFrame({"start": [], "duration": []}).astype("Int64")
    return surroundings(IntervalSet.empty(), none, driver, None, awake, annotations, events)


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
    assert around().bounds.tolist() == []


def test_the_driver_takes_the_targets_buffers_in_order(rows: Make) -> None:
    """What it does after the first buffer that it begins is for later ones, or for any."""
    seen = around(pd.concat([rows((20, 3, 0), (10, 3, 0)), rows((30, 2, 0), target=False)]))
    moments, handed_over = at(11, 21, 21, 21, 31), at(9, 9, 10.5, 19, 29)
    assert seen.driving(moments, handed_over).tolist() == [True, False, True, True, False]
    assert around(rows((10, 3, 0))).driving(at(12, 13), at(11, 11)).tolist() == [True, False]


def test_an_encoder_within_a_buffer_is_no_buffer_of_its_own(rows: Make) -> None:
    """Else the driver would be through with the buffer at the end of its first encoder."""
    driver = rows((10, 6, 0), (11, 1, 0)).assign(depth=pd.array([0, 1], dtype="Int64"))
    assert around(driver).driving(at(14), at(9)).tolist() == [True]
    unknown = driver.assign(depth=pd.array([None, None], dtype="Int64"))
    assert around(unknown).driving(at(14), at(10.5)).tolist() == [False]


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
    rows: Make, moment: float, until: float, *, asleep: bool
) -> None:
    seen = around(awake=rows((3, 2, 0)).drop(columns="target"))
    assert seen.asleep(at(moment), at(until)).tolist() == [asleep]
    assert around().asleep(at(1), np.array([FOREVER - 1])).tolist() == [False]


def test_spans_are_gathered_by_name_and_those_without_work_left_out(named: Make) -> None:
    names = ("sample", "sample", "admit", "idle", "reference", "x")
    starts = (0, 1, 9, 20, 30, 40)
    annotations = named(*((name, start, 3) for name, start in zip(names, starts, strict=True)))
    annotations.loc[5, "name"] = pd.NA
    seen = around(annotations=annotations)
    assert list(seen.annotated) == ["admit", "sample"]
    assert seen.annotated["sample"].bounds.tolist() == at(0, 4).tolist()
    assert without_load(annotations, None).bounds.tolist() == at(20, 30, 23, 33).tolist()
    assert without_load(None, None).bounds.tolist() == []
