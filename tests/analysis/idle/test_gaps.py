"""`gaps`: idle time in pieces, each with its cause, in literal traces."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable

MS = 1_000_000
Make = Callable[..., pd.DataFrame]
Piece = tuple[float, float, str]


def pieces(frame: pd.DataFrame) -> list[Piece]:
    """The table as (start, end, cause) in milliseconds."""
    start, length = frame["start"] / MS, frame["duration"] / MS
    end = (start + length).round(9)
    return list(zip(start, end, frame["cause"].astype(str), strict=True))


def states(frame: pd.DataFrame) -> dict[int, str]:
    return dict(zip(frame["gap"], frame["state"].astype(str), strict=True))


def doing(frame: pd.DataFrame) -> list[str]:
    return frame["during"].astype(str).tolist()


def test_a_loop_that_commits_and_waits(
    work: Make, rows: Make, completed: Make, gaps_of: Make
) -> None:
    frame = gaps_of(
        work([(0, 4, 0, 1), (20, 4, 7, 2)]),
        (0, 24),
        encoders=rows((8, 2.5, 2)),
        completions=completed((6, 1), (25, 2)),
        driver_intervals=rows((14, 3, 0)),
    )
    assert states(frame) == {0: "after-wait"}
    # The driver's work and the start would pass unseen if work were in the queue.
    assert {cause for *_, cause in pieces(frame)} == {"after-wait"}
    assert doing(frame) == ["", "encoding", "", "driver", ""]


def test_a_host_that_had_begun_the_next_was_still_encoding(
    work: Make, rows: Make, completed: Make, gaps_of: Make
) -> None:
    frame = gaps_of(
        work([(0, 4, 0, 1), (10, 4, 1, 2)]),
        (0, 14),
        encoders=rows((5.9, 2.1, 2)),
        completions=completed((6, 1)),
    )
    assert states(frame) == {0: "encoding"}
    assert {cause for *_, cause in pieces(frame)} == {"encoding"}
    assert doing(frame) == ["", "encoding", ""]


def test_a_host_that_began_at_the_very_report_had_waited(
    work: Make, rows: Make, completed: Make, gaps_of: Make
) -> None:
    frame = gaps_of(
        work([(0, 4, 0, 1), (10, 4, 1, 2)]),
        (0, 14),
        encoders=rows((6, 2, 2)),
        completions=completed((6, 1)),
    )
    assert states(frame) == {0: "after-wait"}


@pytest.mark.parametrize(
    ("start", "cause"),
    [(4.0076, "between-buffers"), (4.1, "between-buffers"), (4.101, "late-start")],
)
def test_a_gap_before_committed_work_is_a_boundary_or_a_late_start(
    work: Make, gaps_of: Make, start: float, cause: str
) -> None:
    frame = gaps_of(work([(0, 4, 0, 1), (start, 4, start - 4, 2)]), (0, 8 + start - 4))
    assert pieces(frame) == [(4, start, cause)]
    assert states(frame) == {0: "queued"}


def test_the_driver_counts_before_other_processes_and_they_before_a_late_start(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (11, 1, 10, 2)], others=[(3, 4)])
    frame = gaps_of(intervals, (0, 12), driver_intervals=rows((2, 3, 0)))
    assert pieces(frame) == [
        (1, 2, "late-start"),
        (2, 5, "driver"),
        (5, 7, "other-process"),
        (7, 11, "late-start"),
    ]


def test_a_late_start_is_judged_by_all_of_the_gap_that_nothing_explains(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (1.15, 1, 0.2, 2)])
    assert {one for *_, one in pieces(gaps_of(intervals, (0, 2.15)))} == {"late-start"}
    frame = gaps_of(intervals, (0, 2.15), driver_intervals=rows((1.04, 0.06, 0)))
    assert [one for *_, one in pieces(frame)] == ["between-buffers", "driver", "between-buffers"]


def test_wiring_memory_counts_before_the_driver(work: Make, rows: Make, gaps_of: Make) -> None:
    frame = gaps_of(
        work([(0, 1, 0, 1), (11, 1, 10, 2)]),
        (0, 12),
        driver_intervals=rows((2, 3, 0)),
        driver_events=rows((4, 2, 0), (8, 1, 0)).assign(event=["Wire Memory", "Other"]),
    )
    assert pieces(frame)[1:4] == [(2, 4, "driver"), (4, 6, "wiring"), (6, 11, "late-start")]


def test_the_drivers_work_on_later_buffers_holds_up_no_earlier_one(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    driver = rows((3, 2, 0), (4, 0.5, 0), (6, 2, 0)).assign(depth=[0, 1, 0])
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 9, 2)]), (0, 11), driver_intervals=driver)
    assert [one for one in pieces(frame) if one[2] == "driver"] == [(3, 5, "driver")]


def test_another_process_on_another_channel_keeps_nothing_from_starting(
    work: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (11, 1, 10, 2)], others=[(3, 4)])
    intervals.loc[~intervals["target"], "channel"] = "Fragment"
    assert pieces(gaps_of(intervals, (0, 12))) == [(1, 11, "late-start")]


def test_a_pause_inside_a_command_buffer_lies_between_its_encoders(
    work: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (5, 1, 5, 1), (9, 1, 5, 2)], others=[(2, 1)])
    frame = gaps_of(intervals, (0, 10))
    assert pieces(frame) == [
        (1, 2, "between-encoders"),
        (2, 3, "other-process"),
        (3, 5, "between-encoders"),
        (6, 9, "late-start"),
    ]
    assert states(frame) == {0: "inside", 1: "queued"}


def test_another_process_is_no_cause_where_nothing_was_queued(work: Make, gaps_of: Make) -> None:
    frame = gaps_of(work([(0, 1, 0, 1), (11, 1, 0, 2)], others=[(3, 4)]), (0, 12))
    assert {cause for _, _, cause in pieces(frame)} == {"host-late"}


@pytest.mark.parametrize("source", ["compiler_activity", "spans"])
def test_compiling_counts_where_nothing_was_queued(
    work: Make, rows: Make, named: Make, gaps_of: Make, source: str
) -> None:
    compiled = rows((3, 6, 0)) if source == "compiler_activity" else named(("compile", 3, 6))
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 2, 2)]), (0, 11), **{source: compiled})
    assert [one for one in pieces(frame) if one[2] != "host-late"] == [(3, 8, "compile")]


def test_the_compilers_work_for_another_process_is_no_cause(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    activity = rows((3, 6, 0), target=False)
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), compiler_activity=activity)
    assert pieces(frame) == [(1, 10, "host-late")]


def test_a_device_without_performance_state_had_to_wake(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    states = rows((0, 3, 0), (9, 4, 0)).drop(columns=["target", "command_buffer"])
    intervals = work([(0, 1, 0, 1), (10, 1, 5, 2)])
    frame = gaps_of(intervals, (0, 11), gpu_performance_states=states)
    assert pieces(frame)[-2:] == [(5, 9, "powering-up"), (9, 10, "late-start")]
    later = states.assign(start=[0, 11 * MS])
    frame = gaps_of(intervals, (0, 11), gpu_performance_states=later)
    assert pieces(frame)[-1] == (5, 10, "late-start")


def test_without_a_time_of_commits_all_is_unattributed_but_driver_and_compiler(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, None, 1), (10, 1, None, 2)], others=[(1, 2)])
    frame = gaps_of(
        intervals,
        (0, 12),
        driver_intervals=rows((3, 1, 0)),
        compiler_activity=rows((5, 1, 0)),
    )
    assert [one for one in pieces(frame) if one[2] != "unattributed"] == [
        (3, 4, "driver"),
        (5, 6, "compile"),
    ]
    assert sum(end - start for start, end, _ in pieces(frame)) == 10
    assert set(states(frame).values()) == {"unknown"}


def test_a_wait_is_known_without_a_time_of_commits(
    work: Make, rows: Make, completed: Make, gaps_of: Make
) -> None:
    frame = gaps_of(
        work([(0, 1, None, 1), (10, 1, None, 2), (20, 1, None, 3)]),
        (0, 21),
        encoders=rows((3, 1, 2), (10.5, 1, 3)),
        completions=completed((2, 1), (12, 2)),
    )
    # The third may have been committed before the second ended.
    assert states(frame) == {0: "after-wait", 1: "unknown"}


@pytest.mark.parametrize("source", ["commits", "submissions"])
def test_other_tables_tell_the_commit_where_the_interval_does_not(
    work: Make, rows: Make, gaps_of: Make, source: str
) -> None:
    table = rows((2, 2, 2))
    if source == "commits":
        table = table.assign(committed=pd.array([4 * MS], dtype="Int64"))
    frame = gaps_of(work([(0, 1, None, 1), (10, 1, None, 2)]), (0, 11), **{source: table})
    assert pieces(frame)[-1] == (4, 10, "late-start")
    assert pieces(frame)[0][2] == "host-late"


def test_lead_in_and_tail_belong_to_the_window(work: Make, gaps_of: Make) -> None:
    frame = gaps_of(work([(5, 1, 2, 1), (8, 1, 0.1, 2), (30, 1, 4, 3)]), (2, 20))
    assert pieces(frame) == [
        (2, 3, "host-late"),
        (3, 5, "late-start"),
        (6, 8, "host-late"),
        (9, 20, "host-late"),
    ]
    assert frame["gap"].tolist() == [0, 0, 1, 2]


def test_a_tail_with_nothing_behind_it_is_the_hosts(work: Make, gaps_of: Make) -> None:
    assert pieces(gaps_of(work([(0, 1, 0, 1)]), (0, 9))) == [(1, 9, "host-late")]
    assert pieces(gaps_of(work([(0, 1, None, 1)]), (0, 9))) == [(1, 9, "unattributed")]


def test_time_without_load_is_no_gap(work: Make, named: Make, gaps_of: Make) -> None:
    annotations = named(("idle", 3, 4), ("admit", 7, 2))
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), spans=annotations)
    assert pieces(frame) == [(1, 3, "host-late"), (7, 9, "host-late"), (9, 10, "host-late")]
    assert doing(frame) == ["", "admit", ""]


def test_the_shortest_gaps_count_as_well(work: Make, gaps_of: Make) -> None:
    intervals = work([(0, 1, 0, 1), (1.000001, 1, 0, 2)])
    assert pieces(gaps_of(intervals, (0, 2.000001))) == [(1, 1.000001, "host-late")]


def test_the_innermost_span_says_what_the_host_did(work: Make, named: Make, gaps_of: Make) -> None:
    annotations = named(("tick", 0, 11), ("readback", 3, 2))
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), spans=annotations)
    assert doing(frame) == ["tick", "readback", "tick"]
    assert [cause for *_, cause in pieces(frame)] == ["host-late", "after-wait", "host-late"]


def test_on_a_cpu_the_calls_tell_a_wait_from_a_host_that_builds(
    work: Make, rows: Make, named: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 2, None, 0), (10, 2, None, 0), (20, 2, None, 0)], clock="host")
    frame = gaps_of(
        intervals,
        (0, 22),
        submissions=rows((5, 5, 0), (11, 9, 0)),
        spans=named(("compile", 6, 3), ("readback", 13, 1)),
    )
    assert states(frame) == {0: "after-wait", 1: "encoding"}
    assert [one for one in pieces(frame) if one[2] not in {"after-wait", "encoding"}] == [
        (6, 9, "compile")
    ]
    assert set(doing(frame)) == {"", "encoding", "compile", "readback"}


def test_it_says_why_there_are_no_gaps(work: Make, named: Make, gaps_of: Make) -> None:
    with pytest.raises(Unavailable, match="there was no load in the steady window"):
        gaps_of(work([(0, 1, 0, 1)]), (0, 9), spans=named(("idle", 0, 9)))
    with pytest.raises(Unavailable, match="the steady window has no length"):
        gaps_of(work([(0, 1, 0, 1)]), (5, 5))
    with pytest.raises(Unavailable, match="none of the 1 rows belongs to python3"):
        gaps_of(work([(0, 1, 0, 1)]).assign(target=False), (0, 9))
