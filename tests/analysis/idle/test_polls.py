"""A thread that sleeps and looks goes on at a multiple of its quantum, behind the report."""

import numpy as np

from tracekit.analysis.idle.polls import find_polling
from tracekit.analysis.idle.threads import Thread

US = 1_000


def thread(lasts: list[int], quantum: int, *, polls: bool) -> Thread:
    """Return command buffers whose reports come so long after the commit, in µs."""
    time = 0
    begins: list[int] = []
    committed: list[int] = []
    completed: list[int] = []
    for delay in lasts:
        begins.append(time * US)
        time += 20
        committed.append(time * US)
        completed.append((time + delay) * US)
        looks = -(-delay // quantum) if polls else max(1, delay // 500)
        time += looks * quantum
    rows = np.arange(len(lasts))
    ends = np.array(completed) - 30 * US
    return Thread(
        1, rows, np.zeros(rows.size, np.int64), *map(np.array, (begins, committed, ends, completed))
    )


SHORT_AND_LONG = [400, 400, 400, 400, 8_100] * 12


def test_who_goes_on_at_the_first_multiple_behind_each_report_polls() -> None:
    quantum, waited = find_polling(thread(SHORT_AND_LONG, 1_300, polls=True))
    assert quantum == 1_300 * US
    assert waited[1:].all()


def test_work_of_one_length_does_not_tell_a_timer_from_a_computation() -> None:
    assert find_polling(thread([400] * 60, 1_300, polls=True))[0] == 0


def test_a_host_that_goes_on_later_than_the_next_look_computes() -> None:
    assert find_polling(thread([200, 200, 200, 2_000] * 15, 1_300, polls=False))[0] == 0


def test_work_of_the_host_that_now_and_then_takes_twice_as_long_is_not_a_timer() -> None:
    row = thread([400] * 60, 1_300, polls=True)
    # Every twelfth time the host takes one quantum more, though the report is there.
    later = np.cumsum(np.arange(60) % 12 == 11) * 1_300 * US
    times = (row.encoding_starts, row.committed, row.ended, row.completed)
    delayed = Thread(1, row.rows, row.device, *(time + later for time in times))
    assert find_polling(delayed)[0] == 0


def test_few_command_buffers_tell_nothing() -> None:
    assert find_polling(thread(SHORT_AND_LONG[:10], 1_300, polls=True))[0] == 0
