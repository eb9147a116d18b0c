"""`shared-queue`: short work of one thread waits in the queue behind long work of another."""

import numpy as np
import pandas as pd

from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.queueing import name_of, waits_behind
from tracekit.analysis.rule import Fact, Findings, Severity, finding, longest

_NEARLY_ALL = 0.8  # share of the bursts; if so many wait, they may need the results of that work


def shared_queue(
    bursts: pd.DataFrame,
    timeline: pd.DataFrame,
    thread_names: dict[int, str],
    loop: Loop,
    *,
    limit: float = 0.05,
) -> Findings:
    """Short work of one thread waits in the queue behind long work of another thread.

    What it looks for:
        Bursts of a thread (its commits from one wait to the next) that start only when work of
        another thread of the same process has ended, if that work had been committed before and
        takes at least twice as long. It fires when the possible saving is more than `limit` of the
        loop (5 %). If nearly all bursts wait, they may need the results of that work, which a trace
        does not show: the finding is then a note.

    Why it matters:
        A queue runs command buffers in the order of their commits. The result that a person waits
        for then takes as long as the longest work ahead of it, and the device looks fully used.

    What to do:
        Use a queue for each kind of work, or commit long work in smaller pieces.

    When it abstains:
        When the recording does not show which threads commit, or when. It is silent when work
        overtakes other work, which shows several queues, and when threads hand over parts of one
        stream of work.
    """
    for behind in waits_behind(bursts, timeline, loop):
        if behind.win <= limit * loop.length:
            continue
        waiting = behind.waits.size
        sure = waiting <= _NEARLY_ALL * behind.bursts
        yield finding(
            wording="shared-queue",
            facts=(
                Fact("thread", name_of(behind.thread, thread_names)),
                Fact("blocker", name_of(behind.blocker, thread_names)),
                Fact("one_in", round(behind.bursts / waiting), "count"),
                Fact("waiting", waiting, "count"),
                Fact("bursts", behind.bursts, "count"),
                Fact("noun", "step" if behind.grouped else "command buffer"),
                Fact("wait", int(np.median(behind.waits)), "ns"),
                Fact("sure", sure),
                Fact("usual", behind.usual_delay if sure else None, "ns"),
                Fact("length", behind.length, "ns"),
                Fact("waits_share", int(behind.waits.sum()) / loop.length, "ratio"),
            ),
            lever=Mechanism.QUEUE_BEHIND_OWN_WORK,
            severity=Severity.WARNING if sure else Severity.NOTE,
            evidence=longest("gpu_intervals", behind.starts, behind.ends),
            saving=behind.win if sure else None,
        )
