"""A machine that is busy while two variants are measured: said after a while, with who uses it."""

import os
import time

from tracekit.machine import busy_words, find_busiest
from tracekit.record import Progress

AFTER = 10.0
"""Seconds until a busy machine is said, and between two looks at who uses it."""


def with_busy_notice(progress: Progress, most: float | None, *, after: float = AFTER) -> Progress:
    """Return a progress that also says who uses the cores, if others have more than `most`.

    `most` is the share of all cores' time that they may have; None says nothing.
    """
    if most is None:
        return progress
    allowed = most * (os.cpu_count() or 1)
    looked = time.monotonic()
    notice = ""

    def say(words: str) -> None:
        nonlocal looked, notice
        if time.monotonic() - looked >= after:
            busiest = find_busiest()
            busy = sum(each.cores for each in busiest) > allowed
            notice = f"; the machine is busy: {busy_words(busiest)}" if busy else ""
            looked = time.monotonic()
        progress(f"{words}{notice}")

    return say
