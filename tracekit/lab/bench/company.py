"""The use of the cores by other processes during a measurement."""

from collections.abc import Callable

from tracekit.machine import Crowd, crowd_between, sources

Count = Callable[[], sources.CpuTime]
_LEAST = 0.25  # seconds: counts of CPU time tick in hundredths
_SHARE = 0.25  # of the measured time: next to others for longer, medians may be of it


def count_now() -> sources.CpuTime:
    """Count CPU time up to now; this process is ours."""
    return sources.spent(())


class Company:
    """Reads CPU times between rounds, and reports whether others left enough of the cores."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._last = count()
        self._crowds: list[tuple[float, Crowd]] = []

    def look(self) -> None:
        """Read the CPU times, if enough time has passed since the last reading."""
        later = self._count()
        length = later.moment - self._last.moment
        if length < _LEAST:
            return
        crowd = crowd_between(self._last, later)
        if crowd is not None:
            self._crowds.append((length, crowd))
        self._last = later

    def forget(self) -> None:
        """Discard everything up to now."""
        self._last = self._count()
        self._crowds = []

    def describe(self) -> str:
        """Return the use by others if it spoiled a quarter of the time or more, otherwise ""."""
        measured_time = sum(length for length, _ in self._crowds)
        spoiled = [(length, crowd) for length, crowd in self._crowds if crowd.spoils]
        spoiled_time = sum(length for length, _ in spoiled)
        if not spoiled or spoiled_time < _SHARE * measured_time:
            return ""
        other_cores = sum(length * crowd.other_cores for length, crowd in spoiled) / spoiled_time
        used_cores = sum(length * crowd.used_cores for length, crowd in spoiled) / spoiled_time
        _, last_crowd = spoiled[-1]
        return Crowd(other_cores, used_cores, last_crowd.cores).words
