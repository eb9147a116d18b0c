"""The party that held a device up in a moment of idle time, and the cause of that time.

The *party* is the first of these that holds:

- *within-buffer*: the device had begun a command buffer and not ended it. The pause lies between
  two encoders.
- *way-there*: a command buffer was committed and not started.
- *way-back*: the thread that commits next waited for the report of a command buffer, which had
  ended and was not yet reported complete. If the thread is known not to have waited for it, the
  time is the host's; if that is not known, the time is the host's while it encodes.
- *other-device*: the command buffer whose report that thread waited for was on another device.
  Before it began there, the time is on the way there; before it was committed, it belongs to the
  report that this commit waited for. Another thread's work on another device holds nothing up.
- *compile*: a pipeline was compiled.
- *host*: everything that had been committed was reported complete. It is the host's turn.
- *unknown*: the recording shows neither when the next work was committed, nor when the last was
  reported.

`parties.py` finds it. The *cause* says more if more was recorded:

- On the way there: memory was wired, the driver prepared that command buffer, another process ran
  on the target's channel, or the device was powered up. The rest is the *start* of work on a device
  that had run dry, or a *boundary between command buffers* if the next one had been committed for
  longer than a start takes. It is a *late start* if it is longer than `LATE` in its gap and far
  longer than the others.
- In the host's time: it wired memory, the driver worked, or the host encoded.

`causes.py` finds it.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int16]
"""Members of `Party` or of `Cause`, each as its place in its enumeration; see `code_of`."""


class Party(StrEnum):
    """The party that held the device up; see the module. `WORKS` and `PAUSE` are not idle time."""

    WORKS = "works"
    WITHIN_BUFFER = "within-buffer"
    WAY_THERE = "way-there"
    WAY_BACK = "way-back"
    OTHER_DEVICE = "other-device"
    COMPILE = "compile"
    PAUSE = "pause"
    HOST = "host"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Why the device had nothing of the target to do for a while."""

    BETWEEN_ENCODERS = "between-encoders"
    BETWEEN_BUFFERS = "between-buffers"
    START = "start-latency"
    LATE_START = "late-start"
    DRIVER = "driver"
    WIRING = "wiring"
    OTHER_PROCESS = "other-process"
    POWERING_UP = "powering-up"
    REPORT = "way-back"
    OTHER_DEVICE = "other-device"
    COMPILE = "compile"
    ENCODING = "encoding"
    HOST = "host"
    UNATTRIBUTED = "unattributed"


PARTIES: dict[Party, str] = {
    Party.WORKS: "device at work",
    Party.WITHIN_BUFFER: "within a command buffer",
    Party.WAY_THERE: "on the way to the device",
    Party.WAY_BACK: "on the way back to the host",
    Party.OTHER_DEVICE: "while another device worked",
    Party.COMPILE: "during a compilation",
    Party.PAUSE: "in a pause",
    Party.HOST: "in the host's time",
    Party.UNKNOWN: "at times when commits and reports are not known",
}
"""Each party as a sentence names it, behind "idle"."""

CAUSES: dict[Cause, str] = {
    Cause.BETWEEN_ENCODERS: "between encoders",
    Cause.BETWEEN_BUFFERS: "between command buffers",
    Cause.START: "start latency",
    Cause.LATE_START: "late start",
    Cause.DRIVER: "driver",
    Cause.WIRING: "wiring memory",
    Cause.OTHER_PROCESS: "other process",
    Cause.POWERING_UP: "powering up",
    Cause.REPORT: "way back",
    Cause.OTHER_DEVICE: "other device",
    Cause.COMPILE: "compile",
    Cause.ENCODING: "host encoding",
    Cause.HOST: "host",
    Cause.UNATTRIBUTED: "unattributed",
}
"""Each cause as a sentence names it, in the order in which they are listed."""

DOING = ("compiler", "encoding", "wiring memory", "driver")
"""The activities of the host in a gap, next to the names of the workload's spans."""


def code_of(member: Party | Cause) -> np.int16:
    """Return the place of a member in its enumeration, as in the categories of the table `gaps`."""
    members = list(type(member))
    return np.int16(members.index(member))
