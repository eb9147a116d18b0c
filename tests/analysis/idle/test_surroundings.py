"""What went on around idle time, as gathered from the tables."""

import numpy as np
import pandas as pd
import pytest

from analysed import named, rows, work
from tracekit.analysis.idle.work import Surroundings, surroundings
from tracekit.analysis.intervals import FOREVER
from tracekit.analysis.scope import Device

MS = 1_000_000


def at(*moments: float) -> np.ndarray:
    return np.array([round(moment * MS) for moment in moments], np.int64)


def around(
    driver: pd.DataFrame | None = None,
    awake: pd.DataFrame | None = None,
    others: tuple[tuple[float, float], ...] = (),
    **tables: pd.DataFrame,
) -> Surroundings:
    """Gather what tables by name show around work of the target, and of others on its channel."""
    every = work([(0, 1, 0, 1)], list(others))
    device = Device(every, every[every["target"]])
    names = ("compiler_activity", "spans", "driver_events")
    compiled, spans, events = (tables.get(name) for name in names)
    written = tables.get("encoders"), tables.get("submissions")
    return surroundings(device, *written, driver, compiled, awake, spans, events)


def test_the_bounds_are_those_of_all_of_it() -> None:
    seen = around(
        rows((5, 1, 0)),
        rows((9, 1, 0)).drop(columns="target"),
        ((3, 1),),
        encoders=rows((1, 1, 0)),
        compiler_activity=rows((7, 1, 0)),
        spans=named(("sample", 11, 1)),
        driver_events=rows((13, 1, 0), (15, 1, 0)).assign(event=["Wire Memory", "Other"]),
    )
    assert sorted(set(seen.bounds.tolist())) == at(*range(1, 15)).tolist()
    assert around().bounds.tolist() == []


def test_the_driver_takes_the_targets_buffers_in_order() -> None:
    """What it does after the first buffer that it begins is for later ones, or for any."""
    seen = around(pd.concat([rows((20, 3, 0), (10, 3, 0)), rows((30, 2, 0), target=False)]))
    moments, handed_over = at(11, 21, 21, 21, 31), at(9, 9, 10.5, 19, 29)
    assert seen.driving(moments, handed_over).tolist() == [True, False, True, True, False]
    assert around(rows((10, 3, 0))).driving(at(12, 13), at(11, 11)).tolist() == [True, False]


def test_an_encoder_within_a_buffer_is_no_buffer_of_its_own() -> None:
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
    moment: float, until: float, *, asleep: bool
) -> None:
    seen = around(awake=rows((3, 2, 0)).drop(columns="target"))
    assert seen.asleep(at(moment), at(until)).tolist() == [asleep]
    assert around().asleep(at(1), np.array([FOREVER - 1])).tolist() == [False]


def test_spans_are_gathered_by_name_and_those_without_work_left_out() -> None:
    names = ("sample", "sample", "admit", "idle", "reference", "x")
    starts = (0, 1, 9, 20, 30, 40)
    annotations = named(*((name, start, 3) for name, start in zip(names, starts, strict=True)))
    annotations.loc[5, "name"] = pd.NA
    seen = around(spans=annotations)
    assert list(seen.annotated) == ["admit", "sample"]
    assert seen.annotated["sample"].bounds.tolist() == at(0, 4).tolist()
