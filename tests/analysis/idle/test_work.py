"""The life of each piece of work, and what went on around it, by tables; times in ms."""

import numpy as np
import pandas as pd
import pytest

from analysed import MS, completed, make_named_table, rows, table, work
from tracekit.analysis.idle.surroundings import Surroundings, find_encoding, moments, surroundings
from tracekit.analysis.idle.work import NEVER, DeviceWork, of_buffer, work_of
from tracekit.analysis.intervals import FOREVER
from tracekit.analysis.scope import Device

SAME = HUGE = 2**64 - 1
COMMITS = "committed command_buffer"


def ms(times: np.ndarray) -> list[float | None]:
    """Moments in milliseconds, None where not known."""
    return [None if moment == NEVER else moment / MS for moment in times.tolist()]


def life_of(
    intervals: pd.DataFrame,
    commits: pd.DataFrame | None = None,
    submissions: pd.DataFrame | None = None,
    encoders: pd.DataFrame | None = None,
    completions: pd.DataFrame | None = None,
) -> DeviceWork:
    return work_of(Device(intervals, intervals), commits, submissions, encoders, completions)


def test_an_interval_alone_tells_its_submission_and_pieces_are_ordered_by_start() -> None:
    life = life_of(work([(5, 2, 3, 1)]))
    assert (ms(life.buffers.submitted), ms(life.start), ms(life.end)) == ([2], [5], [7])
    assert (ms(life.buffers.encoding_starts), ms(life.buffers.completed)) == ([None], [None])
    life = life_of(work([(20, 1, 2, 2), (5, 2, 3, 1)]), completions=completed((30, 2), (9, 1)))
    assert (ms(life.start), ms(life.buffers.submitted)) == ([5, 20], [2, 18])
    assert ms(life.buffers.completed) == [9, 30]


def test_the_latency_counts_before_the_commit_and_that_before_the_submission() -> None:
    life = life_of(
        work([(10, 1, 1, 1), (20, 1, None, 2), (30, 1, None, 3), (40, 1, None, 4)]),
        commits=table(COMMITS, (5, 1), (14, 2), (15, 2), (None, 3)),
        submissions=rows((1, 2, 1), (11, 1, 2), (21, 3, 3), (22, 4, 3)),
    )
    assert ms(life.buffers.submitted) == [9, 15, 26, None]  # of several submissions the last
    # Commits are stamped a little late: work may have begun by then.
    late = life_of(work([(10, 4, None, 1)]), commits=table(COMMITS, (11, 1)))
    assert ms(late.buffers.submitted) == [10]


def test_writing_begins_with_the_first_encoder_else_with_the_buffer() -> None:
    life = life_of(
        work([(10, 1, 1, 1), (20, 1, 1, 2), (30, 1, 1, 3)]),
        submissions=rows((2, 3, 1), (12, 3, 2)),
        encoders=rows((4, 1, 1), (3, 1, 1)),
    )
    assert ms(life.buffers.encoding_starts) == [3, 12, None]
    # It ends with the commit, and may begin long after the buffer was made.
    submission_rows = (2, 8, 1, 3), (20, 5, 2, None)
    submissions = table("start duration command_buffer encoder_time", *submission_rows, target=True)
    assert ms(life_of(work([(11, 1, 1, 1)]), submissions=submissions).buffers.encoding_starts) == [
        7
    ]
    writing_times = find_encoding(None, submissions)
    assert (ms(writing_times.starts), ms(writing_times.ends)) == ([7, 20], [10, 25])


def test_a_buffer_completes_with_its_last_report() -> None:
    intervals = work([(10, 1, 0, 1), (14, 1, 0, 2), (16, 1, 0, 1)])
    life = life_of(intervals, completions=completed((18, 1), (19, 1), (20, 2)))
    assert ms(life.buffers.completed) == [19, 20]
    assert life.buffers.sizes.tolist() == [2, 1]


def test_an_interval_ends_with_the_report_of_its_buffer() -> None:
    intervals = work([(10, 150, 0, 1), (14, 1, 0, 2), (30, 2, 0, 3)])
    life = life_of(intervals, completions=completed((12, 1), (20, 2), (25, 3)))
    assert ms(life.end) == [12, 15, 30]


def test_devices_are_numbered_and_one_is_assumed_without_names() -> None:
    intervals = work([(10, 1, 0, 1), (14, 1, 0, 2), (16, 1, 0, 3)])
    assert life_of(intervals).device.tolist() == [0, 0, 0]
    named_devices = intervals.assign(device=["AMD 1", "AMD 2", "AMD 1"])
    assert life_of(named_devices).device.tolist() == [0, 1, 0]


def test_ids_that_are_all_alike_are_replaced_by_the_order_of_the_commits() -> None:
    life = life_of(
        work([(10, 1, None, SAME), (14, 1, None, SAME), (20, 1, None, SAME)]),
        submissions=rows((1, 1, SAME), (12, 1, SAME)).assign(encoders=[2, 1]),
        encoders=rows((1, 1, SAME), (2, 1, SAME), (12, 1, SAME)),
        completions=completed((16, SAME), (22, SAME)),
    )
    assert life.buffers.sizes.tolist() == [2, 1]
    assert (ms(life.buffers.submitted), ms(life.buffers.encoding_starts)) == ([2, 13], [1, 12])
    assert ms(life.buffers.completed) == [16, 22]
    # Completions have no process: with those of others among them, none can be told apart.
    life = life_of(
        work([(10, 1, 2, 7), (20, 1, 3, 7)]),
        submissions=rows((1, 1, 7), (12, 1, 7)),
        completions=completed((16, 7), (17, 7), (22, 7)),
    )
    assert (ms(life.buffers.submitted), ms(life.buffers.completed)) == ([8, 17], [None, None])


def test_on_a_cpu_work_begins_when_it_is_handed_over_and_its_end_is_known() -> None:
    intervals = work([(20, 1, None, 0), (5, 2, None, 0), (3, 1, None, 0)], clock="host")
    life = life_of(intervals, submissions=rows((5, 6, 0), (18, 3, 0)))
    assert ms(life.start) == ms(life.buffers.submitted) == [3, 5, 20]
    assert ms(life.end) == ms(life.buffers.completed) == [4, 7, 21]
    assert ms(life.buffers.encoding_starts) == [None, 5, 18]
    for calls in (rows((0, 1, 0)).iloc[:0], None):
        assert ms(life_of(intervals, submissions=calls).buffers.encoding_starts) == [None] * 3, (
            calls
        )


def test_written_is_when_the_targets_encoders_were_else_its_command_buffers() -> None:
    """Tables of encoders are empty where a process wrote none, or hold only those of others."""
    other_encoders, submissions = rows((0, 1, 9), target=False), rows((5, 3, 1))
    encoders = pd.concat([rows((2, 2, 1), (3, 4, 1)), other_encoders])
    for tables, bounds in (
        ((encoders, submissions), ([2], [7])),
        ((other_encoders, submissions), ([5], [8])),
        ((other_encoders.iloc[:0], submissions), ([5], [8])),
        ((None, rows((5, 3, 1), target=False)), ([], [])),
        ((None, None), ([], [])),
    ):
        writing_times = find_encoding(*tables)
        assert (ms(writing_times.starts), ms(writing_times.ends)) == bounds, tables


def test_the_given_tables_stay_as_they_are() -> None:
    tables = [work([(20, 1, 2, 2), (5, 2, 3, 1)]), rows((1, 2, 1), (11, 1, 2))]
    copies = [frame.copy() for frame in tables]
    life_of(tables[0], submissions=tables[1])
    for table_after, copied in zip(tables, copies, strict=True):
        pd.testing.assert_frame_equal(table_after, copied)


def test_work_finds_the_first_or_last_time_of_its_buffer() -> None:
    for buffers, listed, times, best, buffer_times in (
        ([7, 9], [9, 7, 9, 7, 9], [30, 12, 10, 11, 20], "min", [11, 10]),
        ([7, 9], [9, 7, 9, 7, 9], [30, 12, 10, 11, 20], "max", [12, 30]),
        ([3, 5, 3, 3], [5, 3], [50, 30], "min", [30, 50, 30, 30]),
        ([0, 4, 6, 8, HUGE], [5, 7], [50, 70], "max", [NEVER] * 5),
        ([HUGE, HUGE - 1], [HUGE - 1, HUGE], [1, 2], "max", [2, 1]),
        ([None, 0], [0], [40], "min", [NEVER, 40]),
        ([0, 1], [None, 1], [10, 20], "min", [NEVER, 20]),
        ([1, 2], [1, 1, 2], [NEVER, 10, NEVER], "min", [10, NEVER]),
        ([1, 2], [None], [0], "max", [NEVER, NEVER]),
        ([1, 2], [], [], "max", [NEVER, NEVER]),
        ([], [1], [5], "min", []),
    ):
        frames = [
            table("command_buffer", *((buffer,) for buffer in ids)) for ids in (buffers, listed)
        ]
        assert of_buffer(*frames, np.array(times, np.int64), best).tolist() == buffer_times, (
            listed,
            best,
        )


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_a_null_moment_is_never(dtype: str) -> None:
    column = pd.Series([1, None, 2**62 + 1], dtype=dtype)
    assert moments(column).tolist() == [1, NEVER, 2**62 + 1]


def to_nanoseconds(*moments: float) -> np.ndarray:
    return np.array([round(moment * MS) for moment in moments], np.int64)


def around(
    driver: pd.DataFrame | None = None,
    awake: pd.DataFrame | None = None,
    other_pieces: tuple[tuple[float, float], ...] = (),
    **tables: pd.DataFrame,
) -> Surroundings:
    """Gather what tables by name show around work of the target, and of others on its channel."""
    all_work = work([(0, 1, 0, 1)], list(other_pieces))
    device = Device(all_work, all_work[all_work["target"]])
    names = ("compiler_activity", "spans", "driver_events")
    compiled, spans, events = (tables.get(name) for name in names)
    written_tables = tables.get("encoders"), tables.get("submissions")
    return surroundings(device, *written_tables, driver, compiled, awake, spans, events)


def test_the_bounds_are_those_of_all_of_it() -> None:
    environment = around(
        rows((5, 1, 0)),
        rows((9, 1, 0)).drop(columns="target"),
        ((3, 1),),
        encoders=rows((1, 1, 0)),
        compiler_activity=rows((7, 1, 0)),
        spans=make_named_table(("sample", 11, 1)),
        driver_events=rows((13, 1, 0), (15, 1, 0)).assign(event=["Wire Memory", "Other"]),
    )
    assert (
        sorted({moment for part in environment.bounds for moment in part.tolist()})
        == to_nanoseconds(*range(1, 15)).tolist()
    )
    assert not any(part.size for part in around().bounds)


def test_the_driver_takes_the_targets_buffers_in_order() -> None:
    """What it does after the first buffer that it begins is for later ones, or for any."""
    environment = around(pd.concat([rows((20, 3, 0), (10, 3, 0)), rows((30, 2, 0), target=False)]))
    moments, handed_over = to_nanoseconds(11, 21, 21, 21, 31), to_nanoseconds(9, 9, 10.5, 19, 29)
    assert environment.driving(moments, handed_over).tolist() == [True, False, True, True, False]
    assert around(rows((10, 3, 0))).driving(
        to_nanoseconds(12, 13), to_nanoseconds(11, 11)
    ).tolist() == [True, False]


def test_a_driver_that_is_behind_takes_each_buffer_by_the_next_row() -> None:
    """Three are committed at once: the third one's row begins when the second one's is over."""
    environment = around(rows((10, 5, 0), (15, 5, 0), (20, 5, 0)))
    through = environment.driven(to_nanoseconds(9, 9, 9), to_nanoseconds(16, 21, 26))
    assert through.tolist() == to_nanoseconds(15, 20, 25).tolist()
    assert environment.driving(to_nanoseconds(22), to_nanoseconds(9), through[2:]).tolist() == [
        True
    ]
    # A row that begins when the device works already is not its own.
    assert (
        environment.driven(to_nanoseconds(9, 9, 9), to_nanoseconds(16, 17, 19)).tolist()
        == to_nanoseconds(15, 20, 15).tolist()
    )


def test_an_encoder_within_a_buffer_is_part_of_that_buffer() -> None:
    """Else the driver would be through with the buffer at the end of its first encoder."""
    driver = rows((10, 6, 0), (11, 1, 0)).assign(depth=pd.array([0, 1], dtype="Int64"))
    assert around(driver).driving(to_nanoseconds(14), to_nanoseconds(9)).tolist() == [True]
    unknown = driver.assign(depth=pd.array([None, None], dtype="Int64"))
    assert around(unknown).driving(to_nanoseconds(14), to_nanoseconds(10.5)).tolist() == [False]


def test_asleep_is_in_no_state_and_woken_in_time() -> None:
    for moment, until, asleep in (
        (1, 3, True),  # it woke just then
        (1, 2.5, False),  # it woke later than the work began
        (4, 9, False),  # awake
        (6, 9, False),  # never seen to wake again
    ):
        environment = around(awake=rows((3, 2, 0)).drop(columns="target"))
        assert environment.asleep(to_nanoseconds(moment), to_nanoseconds(until)).tolist() == [
            asleep
        ], (moment, until)
    assert around().asleep(to_nanoseconds(1), np.array([FOREVER - 1])).tolist() == [False]


def test_spans_are_gathered_by_name_and_those_without_work_left_out() -> None:
    names = ("sample", "sample", "admit", "idle", "reference", "x")
    starts = (0, 1, 9, 20, 30, 40)
    annotations = make_named_table(
        *((name, start, 3) for name, start in zip(names, starts, strict=True))
    )
    annotations.loc[5, "name"] = pd.NA
    environment = around(spans=annotations)
    assert list(environment.annotated) == ["admit", "sample"]
    assert environment.annotated["sample"].bounds.tolist() == to_nanoseconds(0, 4).tolist()
