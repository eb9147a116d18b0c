"""The schedule of a recording: the waits of each thread, and the time of each part.

Each command buffer goes the same way: its thread computes, waits for a report or does not, computes
again and commits; the command buffer starts on its device, runs, and is reported. The numbers are
the recording's own, one by one, so that a replay without a lever gives the recording again.

A fact that a recording does not show is read in two ways, and a saving is then a range:

- whether a thread waited for a report, if `waits` says unknown. It waited for the latest report
  that had come; or it computed all the time.
- whether a thread that samples show at work before a report came computed, or spun in its wait.
- the time that a device needs between two command buffers if the next one is there in time, and
  none ever was: nothing; or as long as a start takes on a device that had run dry.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.idle.slopes import Places
from tracekit.analysis.intervals import Times

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rivals:
    """Work of other processes on the devices, by its start, from the schedule's own start; ns."""

    device: Places
    start: Times
    length: Times


@dataclass(frozen=True, eq=False)
class Schedule:
    """One entry for each command buffer, in the order of commits; times in ns.

    `awaits` is the place of the command buffer whose report its thread waited for before the
    commit, -1 for none. The host computed for `host_before` between its last commit and that wait,
    and for `host` after it; without a wait all is `host`. Of that, `wake` passed before it was seen
    to encode, and in `fixed` pipelines were compiled, memory was wired, or nobody asked the thread.
    `start` is the way there on a device that had run dry, `gap` the pause behind the previous
    command buffer on a busy one, `work` and `inner` the time of its work and of pauses within,
    `back` the way back. `boundary` and `late` are the time of a gap of those causes before it;
    `iteration` is the number of its iteration, -1 outside of any. `commit` is when it was
    committed, from the start of the schedule, which leaves pauses out.
    """

    thread: Places
    device: Places
    iteration: Places
    commit: Times
    awaits: Places
    host_before: Times
    host: Times
    wake: Times
    fixed: Times
    start: Times
    gap: Times
    work: Times
    inner: Times
    back: Times
    boundary: Times
    late: Times
    rivals: Rivals

    @property
    def number(self) -> int:
        """How many command buffers there are."""
        return self.thread.size

    @property
    def waits(self) -> int:
        """How many commits waited for a report."""
        return int(np.count_nonzero(self.awaits >= 0))

    def pick(self, rows: Places) -> "Schedule":
        """Return some of the command buffers, with all rivals."""
        columns: dict[str, Times] = {}
        for column in fields(self):
            if column.name != "rivals":
                columns[column.name] = getattr(self, column.name)[rows]
        return replace(self, **columns)


@dataclass(frozen=True, eq=False)
class Readings:
    """All ways to read the schedule of a recording, and the time under load, in ns.

    If they are not `decided`, some read a time as the host's own that others read as a wait. If
    they are a `sample`, they have only some stretches of a very long loop.
    """

    schedules: tuple[Schedule, ...]
    load: int
    decided: bool = True
    sample: bool = False
