"""A thread that looks by a timer whether the device is done, instead of being woken by the report.

It sleeps for a quantum, looks, and sleeps again, so that it goes on at the first multiple of the
quantum after its commit that comes behind the report: by one quantum or by several, depending on
the length of the work. A host that computes goes on when it is through, whichever report has come.
"""

import numpy as np

from tracekit.analysis.idle.threads import Flags, Thread
from tracekit.analysis.intervals import NEVER

_FEWEST = 16
_SHORTEST = 500_000  # ns: a thread that sleeps for less looks like one that is woken
_NEAR = 0.08  # the largest distance from a multiple, in quanta
_MOSTLY = 0.85  # share of the commits that come at the first multiple behind the report
_SELDOM = 0.05  # the smallest share of the commits with a number of quanta that is frequent
_EARLY = 0.2  # the quantile of the times that is one quantum


def find_polling(thread: Thread) -> tuple[int, Flags]:
    """Return the quantum in ns, and which command buffers were begun at the end of one; 0: none."""
    after_poll = np.zeros(thread.rows.size, bool)
    if thread.rows.size < _FEWEST:
        return 0, after_poll
    commits = thread.committed[:-1]
    encoding_starts = thread.encoding_starts[1:]
    reports = thread.report(1)[1:]
    has_times = (commits != NEVER) & (encoding_starts != NEVER)
    usable = has_times & (reports > commits)
    if usable.sum() < _FEWEST:
        return 0, after_poll
    encoding_times = (encoding_starts - commits)[usable]
    lasted = encoding_times.astype(np.float64)
    quantum = float(np.quantile(lasted, _EARLY))
    if quantum < _SHORTEST:
        return 0, after_poll
    exact_numbers = np.round(lasted / quantum)
    number = np.maximum(exact_numbers, 1)
    # Each look comes a little late, so that the quantum of many is the mean of all of them.
    quanta = lasted / number
    quantum = float(np.median(quanta))
    report_times = (reports - commits)[usable]
    first_multiples = np.ceil(report_times / quantum)
    is_multiple = np.abs(quanta - quantum) <= _NEAR * quantum
    at_first = is_multiple & (number == first_multiples)
    # A host whose own work happens to take two quanta now and then shows nothing of a timer.
    _, counts = np.unique(number[at_first], return_counts=True)
    is_frequent = counts / number.size >= _SELDOM
    frequent_numbers = np.count_nonzero(is_frequent)
    if at_first.mean() < _MOSTLY or frequent_numbers < 2:  # noqa: PLR2004
        return 0, after_poll
    after_poll[1:][usable] = at_first
    return round(quantum), after_poll
