"""Whether other processes left the measured one no room on the cores."""

from dataclasses import dataclass

from tracekit.machine.sources import CpuTime, worked_by

_FULL = 0.9
_NOTABLE = 0.2


@dataclass(frozen=True)
class Crowd:
    """How many cores were used by `others` and in all, of so many that there are."""

    others: float
    used: float
    cores: int

    @property
    def spoils(self) -> bool:
        """Whether times say little: the cores were full, and others had a notable part of them."""
        return self.used >= _FULL * self.cores and self.others >= _NOTABLE

    @property
    def words(self) -> str:
        """What others used: "other processes used 1.5 of 2 cores"."""
        return f"other processes used {self.others:.1f} of {self.cores} cores"


def crowd_between(earlier: CpuTime, later: CpuTime) -> Crowd | None:
    """Return who used the cores between two counts of CPU time; None where they stand still.

    Counts tick in hundredths of a second: over 0.2 s it is exact to about a twentieth of a core.
    """
    busy, idle = later.busy - earlier.busy, later.idle - earlier.idle
    length = later.at - earlier.at
    if busy + idle <= 0 or length <= 0:
        return None
    cores = max(1, round((busy + idle) / length))
    used = cores * busy / (busy + idle)
    own = cores * worked_by(earlier, later) / (busy + idle)
    return Crowd(max(0.0, used - own), used, cores)
