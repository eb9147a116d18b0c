"""`shared-queue`: short work of one thread waits in the queue behind long work of another."""

import numpy as np
import pandas as pd

from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.queueing import name_of, waits_behind
from tracekit.analysis.rule import Fact, Findings, finding, longest


def shared_queue(
    turns: pd.DataFrame,
    timeline: pd.DataFrame,
    thread_names: dict[int, str],
    loop: Loop,
    *,
    limit: float = 0.05,
) -> Findings:
    """Short work of one thread waits in the queue behind long work of another thread.

    What it looks for:
        Turns of a thread (what it commits from one wait to the next) that start only when work of
        another thread of the same process has ended, which had been committed before and takes
        twice as long or longer. It fires when the time that could be won is more than `limit` of
        the loop (5 %).

    Why it matters:
        A queue runs command buffers in the order of their commits. What a person waits for then
        takes as long as the longest work ahead of it, and the device looks fully used.

    What to do:
        Use a queue for each kind of work, or commit long work in smaller pieces.

    When it abstains:
        When the recording does not tell which threads commit, or when. It is silent where work
        overtakes other work, which shows several queues, and where threads hand over parts of one
        stream of work.
    """
    for behind in waits_behind(turns, timeline, loop):
        if behind.win <= limit * loop.length:
            continue
        waiting = behind.waits.size
        yield finding(
            wording="shared-queue",
            facts=(
                Fact("thread", name_of(behind.thread, thread_names)),
                Fact("blocker", name_of(behind.blocker, thread_names)),
                Fact("one_in", round(behind.turns / waiting), "count"),
                Fact("waiting", waiting, "count"),
                Fact("turns", behind.turns, "count"),
                Fact("noun", "step" if behind.grouped else "command buffer"),
                Fact("wait", int(np.median(behind.waits)), "ns"),
                Fact("usual", behind.usual if waiting < behind.turns else None, "ns"),
                Fact("length", behind.length, "ns"),
            ),
            lever=Mechanism.QUEUE_BEHIND_OWN_WORK,
            evidence=longest("gpu_intervals", behind.starts, behind.ends),
            saving=behind.win,
        )
