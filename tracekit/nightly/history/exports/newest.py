"""The last night of series: what formats take that hold one night."""

from collections.abc import Sequence

from tracekit.base.errors import InconclusiveError, UsageError
from tracekit.nightly.history.series import Point, Series


def newest(series: Sequence[Series]) -> list[tuple[Series, Point]]:
    """Return the points of the last night that have a value, in the order of the series.

    Raises:
        UsageError: They are of several machines or plans, or of no night.
        InconclusiveError: The last night has no value; what others take for today's must not be
            an earlier one's.
    """
    of_one_machine(series)
    points = [(one, point) for one in series for point in one.points]
    if not points:
        raise UsageError("There is no night here.", hint="`tracekit history` lists the nights.")
    last = max((point for _, point in points), key=lambda point: (point.at, point.night))
    known = [(one, at) for one, at in points if at.night == last.night and at.value is not None]
    if not known:
        raise InconclusiveError(
            f"The last night, {last.night}, has no value: {last.reason}",
            hint="Name an earlier end to export an earlier night: --until TIME",
        )
    return known


def of_one_machine(series: Sequence[Series]) -> None:
    """Raise UsageError where series are of several machines or plans."""
    for what in ("machine", "plan"):
        names = sorted({str(getattr(one, what)) for one in series})
        if len(names) > 1:
            raise UsageError(
                f"This format takes one {what} at a time, and there are {', '.join(names)}.",
                hint=f"Choose one: --{what} NAME",
            )
