"""The causes of idle time, and which one counts where several hold.

At every moment of a gap the target's work is in one of three states, and each has causes of its
own:

- *Queued*: work was handed over and has not begun. The first that holds: the driver is still
  preparing it (then the device could not run it, whoever else uses it), another process runs on
  the same channel, the device was powered down, or nothing that the recording knows: start latency;
  but if the device had begun the command buffer already, that is no latency of a start, and the
  time is unattributed.
- *Empty*: all that was handed over has run. The first that holds: a pipeline is compiled, the
  driver works for the target, the host reads back or waits for work that has run to be reported,
  or the host does something else: it is late.
- *Dark*: the recording does not say when the next work was handed over. Compiler and driver
  count as above; all else is unattributed.
"""

from enum import StrEnum


class Cause(StrEnum):
    """Why the device had nothing of the target to do for a while."""

    HOST_LATE = "host-late"
    START_LATENCY = "start-latency"
    DRIVER = "driver"
    COMPILE = "compile"
    READBACK = "readback"
    OTHER_PROCESS = "other-process"
    DOWN_CLOCKED = "down-clocked"
    UNATTRIBUTED = "unattributed"


class Drained(StrEnum):
    """Whether the queue ran empty because the host waited for all of its work."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


CAUSES: dict[Cause, str] = {
    Cause.HOST_LATE: "host late",
    Cause.START_LATENCY: "start latency",
    Cause.DRIVER: "driver",
    Cause.COMPILE: "compile",
    Cause.READBACK: "waiting for completion",
    Cause.OTHER_PROCESS: "other process",
    Cause.DOWN_CLOCKED: "powered down",
    Cause.UNATTRIBUTED: "unattributed",
}
"""Each cause as a sentence names it, in the order in which they are listed."""
