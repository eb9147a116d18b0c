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
        thread = name_of(behind.thread, thread_names)
        blocker = name_of(behind.blocker, thread_names)
        waits_ratio = round(behind.bursts / waiting)
        noun = "command buffer"
        if behind.grouped:
            noun = "step"
        median_wait = np.median(behind.waits)
        wait = int(median_wait)
        typical_time = None
        if sure:
            typical_time = behind.usual_delay
        wait_sum = behind.waits.sum()
        waits_time = int(wait_sum)
        waits_share = waits_time / loop.length
        facts = (
            Fact("thread", thread),
            Fact("blocker", blocker),
            Fact("one_in", waits_ratio, "count"),
            Fact("waiting", waiting, "count"),
            Fact("bursts", behind.bursts, "count"),
            Fact("noun", noun),
            Fact("wait", wait, "ns"),
            Fact("sure", sure),
            Fact("usual", typical_time, "ns"),
            Fact("length", behind.length, "ns"),
            Fact("waits_share", waits_share, "ratio"),
        )
        severity = Severity.NOTE
        if sure:
            severity = Severity.WARNING
        evidence = longest("gpu_intervals", behind.starts, behind.ends)
        saving = None
        if sure:
            saving = behind.win
        yield finding(
            wording="shared-queue",
            facts=facts,
            lever=Mechanism.QUEUE_BEHIND_OWN_WORK,
            severity=severity,
            evidence=evidence,
            saving=saving,
        )
