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


def doing(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(frame["drained"].astype(str), frame["during"].astype(str), strict=True))


def test_a_loop_that_commits_and_waits(
    work: Make, rows: Make, completed: Make, gaps_of: Make
) -> None:
    frame = gaps_of(
        work([(0, 4, 0, 1), (20, 4, 9, 2)]),
        (0, 24),
        encoders=rows((8, 2.5, 2)),
        completions=completed((6, 1), (25, 2)),
        driver_intervals=rows((12, 3, 0)),
    )
    assert pieces(frame) == [
        (4, 6, "readback"),
        (6, 8, "host-late"),
        (8, 10.5, "host-late"),
        (10.5, 11, "host-late"),
        (11, 12, "start-latency"),
        (12, 15, "driver"),
        (15, 20, "start-latency"),
    ]
    assert doing(frame) == [
        ("yes", "waiting"),
        ("yes", ""),
        ("yes", "encoding"),
        ("yes", ""),
        ("yes", ""),
        ("yes", "driver"),
        ("yes", ""),
    ]
    assert set(frame["gap"]) == {0}


def test_a_host_that_had_begun_the_next_is_late_not_waiting(
    work: Make, rows: Make, completed: Make, gaps_of: Make
) -> None:
    frame = gaps_of(
        work([(0, 4, 0, 1), (10, 4, 1, 2)]),
        (0, 14),
        encoders=rows((3, 5, 2)),
        completions=completed((6, 1)),
    )
    assert pieces(frame) == [(4, 8, "host-late"), (8, 9, "host-late"), (9, 10, "start-latency")]
    assert doing(frame) == [("no", "encoding"), ("no", ""), ("no", "")]


def test_work_that_was_queued_all_the_time_is_start_latency(work: Make, gaps_of: Make) -> None:
    frame = gaps_of(work([(0, 4, 0, 1), (10, 4, 9, 2)]), (0, 14))
    assert pieces(frame) == [(4, 10, "start-latency")]
    assert doing(frame) == [("no", "")]


def test_the_driver_counts_before_other_processes_and_they_before_latency(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (11, 1, 10, 2)], others=[(3, 4)])
    frame = gaps_of(intervals, (0, 12), driver_intervals=rows((2, 3, 0)))
    assert pieces(frame) == [
        (1, 2, "start-latency"),
        (2, 5, "driver"),
        (5, 7, "other-process"),
        (7, 11, "start-latency"),
    ]


def test_the_drivers_work_on_later_buffers_holds_up_no_earlier_one(
    work: Make, rows: Make, gaps_of: Make
) -> None:
    driver = rows((3, 2, 0), (4, 0.5, 0), (6, 2, 0)).assign(depth=[0, 1, 0])
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 8, 2)]), (0, 11), driver_intervals=driver)
    assert [one for one in pieces(frame) if one[2] == "driver"] == [(3, 5, "driver")]


def test_another_process_on_another_channel_keeps_nothing_from_starting(
    work: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (11, 1, 10, 2)], others=[(3, 4)])
    intervals.loc[~intervals["target"], "channel"] = "Fragment"
    assert pieces(gaps_of(intervals, (0, 12))) == [(1, 11, "start-latency")]


def test_a_pause_inside_a_command_buffer_is_no_latency_of_its_start(
    work: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 1, 0, 1), (5, 1, 5, 1), (9, 1, 5, 2)], others=[(2, 1)])
    assert pieces(gaps_of(intervals, (0, 10))) == [
        (1, 2, "unattributed"),
        (2, 3, "other-process"),
        (3, 5, "unattributed"),
        (6, 9, "start-latency"),
    ]


def test_another_process_is_no_cause_where_nothing_was_queued(work: Make, gaps_of: Make) -> None:
    frame = gaps_of(work([(0, 1, 0, 1), (11, 1, 0, 2)], others=[(3, 4)]), (0, 12))
    assert {cause for _, _, cause in pieces(frame)} == {"host-late"}


@pytest.mark.parametrize("source", ["compiler_activity", "spans"])
def test_compiling_counts_where_nothing_was_queued(
    work: Make, rows: Make, named: Make, gaps_of: Make, source: str
) -> None:
    compiled = rows((3, 6, 0)) if source == "compiler_activity" else named(("compile", 3, 6))
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 2, 2)]), (0, 11), **{source: compiled})
    found = pieces(frame)
    assert [one for one in found if one[2] != "host-late"] == [
        (3, 8, "compile"),
        (8, 9, "start-latency"),
        (9, 10, "start-latency"),
    ]


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
    assert pieces(frame)[-2:] == [(5, 9, "down-clocked"), (9, 10, "start-latency")]
    later = states.assign(start=[0, 11 * MS])
    frame = gaps_of(intervals, (0, 11), gpu_performance_states=later)
    assert pieces(frame)[-1] == (5, 10, "start-latency")


def test_without_a_time_of_submission_all_is_unattributed_but_driver_and_compiler(
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
    assert {one for one, _ in doing(frame)} == {"unknown"}


@pytest.mark.parametrize("source", ["commits", "submissions"])
def test_other_tables_tell_the_submission_where_the_interval_does_not(
    work: Make, rows: Make, gaps_of: Make, source: str
) -> None:
    table = rows((5, 2, 2))
    if source == "commits":
        table = table.assign(committed=pd.array([7 * MS], dtype="Int64"))
    frame = gaps_of(work([(0, 1, None, 1), (10, 1, None, 2)]), (0, 11), **{source: table})
    assert pieces(frame)[-1] == (7, 10, "start-latency")
    assert pieces(frame)[0][2] == "host-late"


def test_lead_in_and_tail_belong_to_the_window(work: Make, gaps_of: Make) -> None:
    frame = gaps_of(work([(5, 1, 2, 1), (8, 1, 1, 2), (30, 1, 4, 3)]), (2, 20))
    assert pieces(frame) == [
        (2, 3, "host-late"),
        (3, 5, "start-latency"),
        (6, 7, "host-late"),
        (7, 8, "start-latency"),
        (9, 20, "host-late"),
    ]
    assert frame["gap"].tolist() == [0, 0, 1, 1, 2]


def test_a_tail_with_nothing_behind_it_is_the_hosts(work: Make, gaps_of: Make) -> None:
    assert pieces(gaps_of(work([(0, 1, 0, 1)]), (0, 9))) == [(1, 9, "host-late")]
    assert pieces(gaps_of(work([(0, 1, None, 1)]), (0, 9))) == [(1, 9, "unattributed")]


def test_time_without_load_is_no_gap(work: Make, named: Make, gaps_of: Make) -> None:
    annotations = named(("idle", 3, 4), ("admit", 7, 2))
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), spans=annotations)
    assert pieces(frame) == [(1, 3, "host-late"), (7, 9, "host-late"), (9, 10, "host-late")]
    assert [during for _, during in doing(frame)] == ["", "admit", ""]


def test_the_shortest_gaps_are_left_out(work: Make, gaps_of: Make) -> None:
    intervals = work([(0, 1, 0, 1), (1.009, 1, 0, 2), (2.019, 1, 0, 3)])
    assert pieces(gaps_of(intervals, (0, 3.019))) == [(2.009, 2.019, "host-late")]


def test_the_innermost_span_says_what_the_host_did(work: Make, named: Make, gaps_of: Make) -> None:
    annotations = named(("tick", 0, 11), ("readback", 3, 2))
    frame = gaps_of(work([(0, 1, 0, 1), (10, 1, 0, 2)]), (0, 11), spans=annotations)
    assert [during for _, during in doing(frame)] == ["tick", "readback", "tick"]
    assert [cause for *_, cause in pieces(frame)] == ["host-late", "readback", "host-late"]


def test_on_a_cpu_what_is_not_handed_over_is_late(
    work: Make, rows: Make, named: Make, gaps_of: Make
) -> None:
    intervals = work([(0, 2, None, 0), (10, 2, None, 0), (20, 2, None, 0)], clock="host")
    frame = gaps_of(
        intervals,
        (0, 22),
        submissions=rows((5, 5, 0), (11, 9, 0)),
        spans=named(("compile", 6, 3), ("readback", 13, 1)),
    )
    assert [one for one in pieces(frame) if one[2] != "host-late"] == [
        (6, 9, "compile"),
        (13, 14, "readback"),
    ]
    drained = dict(zip(frame["gap"], frame["drained"].astype(str), strict=True))
    assert drained == {0: "yes", 1: "no"}
    assert {during for _, during in doing(frame)} == {"", "encoding", "compile", "readback"}


def test_it_says_why_there_are_no_gaps(work: Make, named: Make, gaps_of: Make) -> None:
    with pytest.raises(Unavailable, match="there was no load in the steady window"):
        gaps_of(work([(0, 1, 0, 1)]), (0, 9), spans=named(("idle", 0, 9)))
    with pytest.raises(Unavailable, match="the steady window has no length"):
        gaps_of(work([(0, 1, 0, 1)]), (5, 5))
    with pytest.raises(Unavailable, match="none of the 1 rows belongs to python3"):
        gaps_of(work([(0, 1, 0, 1)]).assign(target=False), (0, 9))
