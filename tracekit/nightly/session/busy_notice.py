"""A machine that is busy while two variants are measured: said after a while, with who uses it."""

import os
import time

from tracekit.machine import busy_words, find_busiest
from tracekit.record import Progress

AFTER = 10.0
"""Seconds until a busy machine is said, and between two looks at who uses it."""


def with_busy_notice(
    progress: Progress, max_share: float | None, *, delay: float = AFTER
) -> Progress:
    """Return a progress that also says who uses the cores, if others have more than `max_share`.

    `max_share` is the share of all cores' time that they may have; None says nothing.
    """
    if max_share is None:
        return progress
    allowed = max_share * (os.cpu_count() or 1)
    looked = time.monotonic()
    notice = ""

    def say(words: str) -> None:
        nonlocal looked, notice
        if time.monotonic() - looked >= delay:
            busiest = find_busiest()
            busy = sum(process.cores for process in busiest) > allowed
            notice = f"; the machine is busy: {busy_words(busiest)}" if busy else ""
            looked = time.monotonic()
        progress(f"{words}{notice}")

    return say
