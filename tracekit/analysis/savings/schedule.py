"""The schedule of a recording: the times of each command buffer, from which it can be replayed.

Each command buffer has the same stages. Its thread computes, may wait for the report of an earlier
command buffer, computes again, and commits. The command buffer then starts on its device, runs,
and is reported to the host. The times are the recording's own, one by one, so that a replay
without a lever gives the recording again.

A recording may leave three facts open. Each is then read in two ways, and a saving is a range:

- Whether a thread waited for a report, if `waits` has "unknown". Either it waited for the latest
  report that had come, or it computed all the time.
- Whether a thread computed or spun in a wait, if samples show it at work before a report came.
- The pause that a device needs between two command buffers, if it always ran dry before the next
  one came. Either it needs none, or as much as a start on a device that had run dry.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.idle.slopes import Places
from tracekit.analysis.intervals import Times

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rivals:
    """Work of other processes on the devices, in order; ns from the start of the schedule."""

    device: Places
    start: Times
    length: Times


@dataclass(frozen=True, eq=False)
class Schedule:
    """One entry for each command buffer, in the order of commits; times in ns.

    Attributes:
        thread: The number of the thread that commits it.
        device: The number of its device.
        iteration: The number of its iteration, -1 outside of any.
        commit: The time of its commit, from the start of the schedule, which leaves pauses out.
        awaits: The place of the command buffer whose report the thread waited for before the
            commit, -1 for none.
        host_before: How long the host computed between its last commit and that wait.
        host: How long it computed after the wait, or since its last commit without a wait.
        wake: The part of `host` before the host was seen to encode.
        fixed: The part of `host` in which pipelines were compiled, memory was wired, or the thread
            had nothing to do.
        start: The way there on a device that had run dry.
        gap: The pause after the previous command buffer on a busy device.
        work: How long the device worked on it.
        inner: The pauses within that work.
        back: The way back.
        boundary: The time of a gap before it that is a boundary between command buffers.
        late: How much later than usual it started, if it started late.
        rivals: The work of other processes.
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
    """All ways to read the schedule of a recording.

    `load` is the time under load, in ns. If the readings are not `decided`, some take time for the
    host's own that others take for a wait. If they are a `sample`, they cover only some stretches
    of a very long loop.
    """

    schedules: tuple[Schedule, ...]
    load: int
    decided: bool = True
    sample: bool = False
