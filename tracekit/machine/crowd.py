"""Whether other processes left the measured one enough of the cores."""

from dataclasses import dataclass

from tracekit.machine.sources import CpuTime, worked_by

_FULL = 0.9
_NOTABLE = 0.2


@dataclass(frozen=True)
class Crowd:
    """The cores that others used, those used in all, and the number of cores."""

    other_cores: float
    used_cores: float
    cores: int

    @property
    def spoils(self) -> bool:
        """Whether times are unreliable: the cores were full, and others had a notable part."""
        return self.used_cores >= _FULL * self.cores and self.other_cores >= _NOTABLE

    @property
    def words(self) -> str:
        """The use by others: "other processes used 1.5 of 2 cores"."""
        return f"other processes used {self.other_cores:.1f} of {self.cores} cores"


def crowd_between(earlier_count: CpuTime, later: CpuTime) -> Crowd | None:
    """Return the use of the cores between two counts of CPU time; None if they are equal.

    Counts tick in hundredths of a second: over 0.2 s it is exact to about a twentieth of a core.
    """
    busy = later.busy - earlier_count.busy
    idle = later.idle - earlier_count.idle
    length = later.moment - earlier_count.moment
    if busy + idle <= 0 or length <= 0:
        return None
    cores = max(1, round((busy + idle) / length))
    used_cores = cores * busy / (busy + idle)
    own_cores = cores * worked_by(earlier_count, later) / (busy + idle)
    return Crowd(max(0.0, used_cores - own_cores), used_cores, cores)
