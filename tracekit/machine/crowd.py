"""Whether other processes left the measured one no room on the cores."""

from dataclasses import dataclass

from tracekit.machine.sources import CpuTime, worked_by

_FULL = 0.9
_NOTABLE = 0.2


@dataclass(frozen=True)
class Crowd:
    """How many cores were used by `other_cores` and in all, of so many that there are."""

    other_cores: float
    used_cores: float
    cores: int

    @property
    def spoils(self) -> bool:
        """Whether times say little: the cores were full, and others had a notable part of them."""
        return self.used_cores >= _FULL * self.cores and self.other_cores >= _NOTABLE

    @property
    def words(self) -> str:
        """What others used: "other processes used 1.5 of 2 cores"."""
        return f"other processes used {self.other_cores:.1f} of {self.cores} cores"


def crowd_between(earlier_count: CpuTime, later: CpuTime) -> Crowd | None:
    """Return who used the cores between two counts of CPU time; None where they stand still.

    Counts tick in hundredths of a second: over 0.2 s it is exact to about a twentieth of a core.
    """
    busy, idle = later.busy - earlier_count.busy, later.idle - earlier_count.idle
    length = later.moment - earlier_count.moment
    if busy + idle <= 0 or length <= 0:
        return None
    cores = max(1, round((busy + idle) / length))
    used_cores = cores * busy / (busy + idle)
    own_cores = cores * worked_by(earlier_count, later) / (busy + idle)
    return Crowd(max(0.0, used_cores - own_cores), used_cores, cores)
