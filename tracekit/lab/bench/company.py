"""Who else used the cores while subjects were measured."""

from collections.abc import Callable

from tracekit.machine import CpuTime, Crowd, crowd_between, spent

Count = Callable[[], CpuTime]
_LEAST = 0.25  # seconds: counts of CPU time tick in hundredths
_SHARE = 0.25  # of the time that was measured: beside others for longer, medians may be of it


def count_now() -> CpuTime:
    """Count CPU time up to now; this process is ours."""
    return spent(())


class Company:
    """Looks at the cores between rounds, and says whether others left enough of them."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._last = count()
        self._crowds: list[tuple[float, Crowd]] = []

    def look(self) -> None:
        """Look, if enough time has passed since the last look for counts to say something."""
        later = self._count()
        length = later.moment - self._last.moment
        if length < _LEAST:
            return
        if (crowd := crowd_between(self._last, later)) is not None:
            self._crowds.append((length, crowd))
        self._last = later

    def forget(self) -> None:
        """Leave out what was seen so far."""
        self._last = self._count()
        self._crowds = []

    def describe(self) -> str:
        """Say what others used where it spoiled a quarter of the time or more; else nothing."""
        measured_time = sum(length for length, _ in self._crowds)
        spoiled = [(length, crowd) for length, crowd in self._crowds if crowd.spoils]
        spoiled_time = sum(length for length, _ in spoiled)
        if not spoiled or spoiled_time < _SHARE * measured_time:
            return ""
        other_cores = sum(length * crowd.other_cores for length, crowd in spoiled) / spoiled_time
        used_cores = sum(length * crowd.used_cores for length, crowd in spoiled) / spoiled_time
        return Crowd(other_cores, used_cores, spoiled[-1][1].cores).words
