"""A notice that the machine is busy while two variants are measured, with its users."""

import os
import time

from tracekit.machine import busy
from tracekit.record import Progress

AFTER = 10.0
"""Seconds until a busy machine is reported, and between two looks at its users."""


def with_busy_notice(
    progress: Progress, max_share: float | None, *, delay: float = AFTER
) -> Progress:
    """Return a progress that also names the users of the cores, if others exceed `max_share`.

    `max_share` is the share of all cores' time that others may have; None disables the notice.
    """
    if max_share is None:
        return progress
    allowed = max_share * (os.cpu_count() or 1)
    looked = time.monotonic()
    notice = ""

    def say(words: str) -> None:
        nonlocal looked, notice
        if time.monotonic() - looked >= delay:
            busiest = busy.find_busiest()
            notice = ""
            if sum(process.cores for process in busiest) > allowed:
                notice = f"; the machine is busy: {busy.busy_words(busiest)}"
            looked = time.monotonic()
        progress(f"{words}{notice}")

    return say
