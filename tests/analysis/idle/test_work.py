"""The life of each piece of work: which table tells which moment of it."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.idle.work import NEVER, Work, work_of, written
from tracekit.analysis.scope import Device

MS = 1_000_000
Make = Callable[..., pd.DataFrame]


def ms(times: np.ndarray) -> list[float | None]:
    """Moments in milliseconds, None where not known."""
    return [None if one == NEVER else one / MS for one in times.tolist()]


def life_of(
    intervals: pd.DataFrame,
    commits: pd.DataFrame | None = None,
    submissions: pd.DataFrame | None = None,
    encoders: pd.DataFrame | None = None,
    completions: pd.DataFrame | None = None,
) -> Work:
    return work_of(Device(intervals, intervals), commits, submissions, encoders, completions)


@pytest.fixture
def committed() -> Make:
    """Make `commits` of (moment, command buffer)."""

    def make(*rows: tuple[float | None, int]) -> pd.DataFrame:
        at = pd.array([None if one is None else round(one * MS) for one, _ in rows], dtype="Int64")
        ids = pd.array([number for _, number in rows], dtype="UInt64")
        return pd.DataFrame({"committed": at, "command_buffer": ids})

    return make


def test_an_interval_alone_tells_its_submission_by_its_latency(work: Make) -> None:
    life = life_of(work([(5, 2, 3, 1)]))
    assert ms(life.submitted) == [2]
    assert (ms(life.start), ms(life.end)) == ([5], [7])
    assert (ms(life.begun), ms(life.completed)) == ([None], [None])


def test_pieces_are_ordered_by_start_whatever_the_tables_order(work: Make, completed: Make) -> None:
    life = life_of(work([(20, 1, 2, 2), (5, 2, 3, 1)]), completions=completed((30, 2), (9, 1)))
    assert ms(life.start) == [5, 20]
    assert ms(life.submitted) == [2, 18]
    assert ms(life.completed) == [9, 30]


def test_the_latency_counts_before_the_commit_and_that_before_the_submission(
    work: Make, rows: Make, committed: Make
) -> None:
    life = life_of(
        work([(10, 1, 1, 1), (20, 1, None, 2), (30, 1, None, 3), (40, 1, None, 4)]),
        commits=committed((5, 1), (15, 2), (None, 3)),
        submissions=rows((1, 2, 1), (11, 1, 2), (21, 3, 3)),
    )
    assert ms(life.submitted) == [9, 15, 24, None]


def test_a_buffer_in_several_submissions_is_handed_over_with_the_last(
    work: Make, rows: Make
) -> None:
    life = life_of(work([(10, 1, None, 1)]), submissions=rows((1, 1, 1), (4, 2, 1)))
    assert ms(life.submitted) == [6]
    assert ms(life.begun) == [1]


def test_nothing_begins_before_it_is_handed_over(work: Make, committed: Make) -> None:
    """Commits are stamped a little late: work may have begun by then."""
    life = life_of(work([(10, 4, None, 1)]), commits=committed((11, 1)))
    assert ms(life.submitted) == [10]


def test_writing_begins_with_the_first_encoder_else_with_the_buffer(work: Make, rows: Make) -> None:
    life = life_of(
        work([(10, 1, 1, 1), (20, 1, 1, 2), (30, 1, 1, 3)]),
        submissions=rows((2, 3, 1), (12, 3, 2)),
        encoders=rows((4, 1, 1), (3, 1, 1)),
    )
    assert ms(life.begun) == [3, 12, None]


def test_all_pieces_of_a_buffer_open_with_its_first_and_complete_with_its_last_report(
    work: Make, completed: Make
) -> None:
    life = life_of(
        work([(10, 1, 0, 1), (14, 1, 0, 2), (16, 1, 0, 1)]),
        completions=completed((18, 1), (19, 1), (20, 2)),
    )
    assert ms(life.opened) == [10, 14, 10]
    assert ms(life.completed) == [19, 20, 19]


def test_work_of_no_known_buffer_opens_with_itself(work: Make) -> None:
    intervals = work([(10, 1, 0, 1), (14, 1, 0, 1)])
    intervals["command_buffer"] = pd.array([None, None], dtype="UInt64")
    assert ms(life_of(intervals).opened) == [10, 14]


def test_encoding_ends_with_the_commit_and_may_begin_long_after_the_buffer_was_made(
    work: Make, rows: Make
) -> None:
    submissions = rows((2, 8, 1)).assign(encoder_time=pd.array([3 * MS], dtype="Int64"))
    assert ms(life_of(work([(11, 1, 1, 1)]), submissions=submissions).begun) == [7]
    shown = written(None, submissions)
    assert (ms(shown.starts), ms(shown.ends)) == ([7], [10])


def test_ids_that_are_all_alike_are_replaced_by_the_order_of_the_commits(
    work: Make, rows: Make, completed: Make
) -> None:
    same = 2**64 - 1
    life = life_of(
        work([(10, 1, None, same), (14, 1, None, same), (20, 1, None, same)]),
        submissions=rows((1, 1, same), (12, 1, same)).assign(encoders=[2, 1]),
        encoders=rows((1, 1, same), (2, 1, same), (12, 1, same)),
        completions=completed((16, same), (22, same)),
    )
    assert life.buffer.tolist() == [0, 0, 1]
    assert ms(life.submitted) == [2, 2, 13]
    assert ms(life.begun) == [1, 1, 12]
    assert ms(life.completed) == [16, 16, 22]
    assert ms(life.opened) == [10, 10, 20]


def test_rows_that_do_not_add_up_are_of_no_known_buffer(
    work: Make, rows: Make, completed: Make
) -> None:
    """Completions have no process: with those of others among them, none can be told apart."""
    life = life_of(
        work([(10, 1, 2, 7), (20, 1, 3, 7)]),
        submissions=rows((1, 1, 7), (12, 1, 7)),
        completions=completed((16, 7), (17, 7), (22, 7)),
    )
    assert ms(life.submitted) == [8, 17]
    assert ms(life.completed) == [None, None]


def test_on_a_cpu_work_begins_when_it_is_handed_over_and_its_end_is_known(
    work: Make, rows: Make
) -> None:
    calls = rows((4, 7, 0), (18, 3, 0))
    intervals = work([(20, 1, None, 0), (5, 2, None, 0), (3, 1, None, 0)], clock="host")
    life = life_of(intervals, submissions=calls)
    assert ms(life.start) == ms(life.submitted) == ms(life.opened) == [3, 5, 20]
    assert ms(life.end) == ms(life.completed) == [4, 7, 21]
    assert ms(life.begun) == [None, 4, 18]


def test_a_call_and_its_work_may_begin_at_the_same_moment(work: Make, rows: Make) -> None:
    life = life_of(work([(4, 1, None, 0)], clock="host"), submissions=rows((4, 2, 0)))
    assert ms(life.begun) == [4]


@pytest.mark.parametrize("empty", [True, False])
def test_on_a_cpu_without_calls_nobody_knows_when_writing_began(
    work: Make, rows: Make, empty: bool
) -> None:
    calls = rows((0, 1, 0)).iloc[:0] if empty else None
    assert ms(life_of(work([(5, 2, None, 0)], clock="host"), submissions=calls).begun) == [None]


def test_written_is_when_the_targets_encoders_were(rows: Make) -> None:
    others = rows((0, 1, 9), target=False)
    both = pd.concat([rows((2, 2, 1), (3, 4, 1)), others])
    shown = written(both, rows((50, 1, 1)))
    assert (ms(shown.starts), ms(shown.ends)) == ([2], [7])


def test_written_falls_back_on_command_buffers(rows: Make) -> None:
    """Tables of encoders are empty where a process wrote none, or hold only those of others."""
    submissions = rows((5, 3, 1))
    for encoders in (None, rows((0, 1, 9)).iloc[:0], rows((0, 1, 9), target=False)):
        shown = written(encoders, submissions)
        assert (ms(shown.starts), ms(shown.ends)) == ([5], [8])


def test_written_is_nothing_where_no_table_tells_of_the_target(rows: Make) -> None:
    assert written(None, None).bounds.tolist() == []
    assert written(None, rows((5, 3, 1), target=False)).bounds.tolist() == []
