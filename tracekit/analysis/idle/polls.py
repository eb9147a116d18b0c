"""A thread that looks by a timer whether the device is done, instead of being woken by the report.

It sleeps for a quantum, looks, and sleeps again, so that it goes on at the first multiple of the
quantum after its commit that comes behind the report: as often by one quantum as by several, by the
length of the work. A host that computes goes on when it is through, whichever report has come.
"""

import numpy as np

from tracekit.analysis.idle.threads import Flags, Thread
from tracekit.analysis.intervals import NEVER

_FEWEST = 16
_SHORTEST = 500_000  # ns: a thread that sleeps for less is not told from one that is woken
_NEAR = 0.08  # how far from a multiple, of a quantum
_MOSTLY = 0.85  # of the commits, that come at the first multiple behind the report
_SELDOM = 0.05  # of them, that one number of quanta has at least
_EARLY = 0.2  # the quantile of the times that is one quantum


def find_polling(thread: Thread) -> tuple[int, Flags]:
    """Return the quantum in ns, and which command buffers were begun at the end of one; 0: none."""
    after_poll = np.zeros(thread.rows.size, bool)
    if thread.rows.size < _FEWEST:
        return 0, after_poll
    commits, encoding_starts, reports = (
        thread.committed[:-1],
        thread.encoding_starts[1:],
        thread.report(1)[1:],
    )
    usable = (commits != NEVER) & (encoding_starts != NEVER) & (reports > commits)
    if usable.sum() < _FEWEST:
        return 0, after_poll
    lasted = (encoding_starts - commits)[usable].astype(np.float64)
    quantum = float(np.quantile(lasted, _EARLY))
    if quantum < _SHORTEST:
        return 0, after_poll
    number = np.maximum(np.round(lasted / quantum), 1)
    # Each look comes a little late, so that the quantum of many is the mean of all of them.
    quantum = float(np.median(lasted / number))
    first_multiples = np.ceil((reports - commits)[usable] / quantum)
    at_first = (np.abs(lasted / number - quantum) <= _NEAR * quantum) & (number == first_multiples)
    is_frequent = [(number == many).mean() >= _SELDOM for many in np.unique(number)]
    if at_first.mean() < _MOSTLY or sum(is_frequent) < 2:  # noqa: PLR2004
        return 0, after_poll
    after_poll[1:][usable] = at_first
    return round(quantum), after_poll
