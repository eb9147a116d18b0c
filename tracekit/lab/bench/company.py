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
        length = later.at - self._last.at
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
        whole = sum(length for length, _ in self._crowds)
        spoiled = [(length, crowd) for length, crowd in self._crowds if crowd.spoils]
        lost = sum(length for length, _ in spoiled)
        if not spoiled or lost < _SHARE * whole:
            return ""
        others = sum(length * crowd.others for length, crowd in spoiled) / lost
        used = sum(length * crowd.used for length, crowd in spoiled) / lost
        return Crowd(others, used, spoiled[-1][1].cores).words
