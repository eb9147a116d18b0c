"""The last night of series: what formats take that hold one night."""

from collections.abc import Iterator, Sequence

from tracekit.errors import UsageError
from tracekit.history.series import Point, Series


def newest(series: Sequence[Series]) -> list[tuple[Series, Point]]:
    """Return the points of the last night that has a value, in the order of the series.

    Raises:
        UsageError: They are of several machines or plans, or none has a value.
    """
    of_one_machine(series)
    known = list(_known(series))
    if not known:
        raise UsageError("No night has a value.", hint="`tracekit history` lists the nights.")
    last = max((point.at, point.night) for _, point in known)
    return [(one, point) for one, point in known if (point.at, point.night) == last]


def of_one_machine(series: Sequence[Series]) -> None:
    """Raise UsageError where series are of several machines or plans."""
    for what in ("machine", "plan"):
        names = sorted({str(getattr(one, what)) for one in series})
        if len(names) > 1:
            raise UsageError(
                f"This format takes one {what} at a time, and there are {', '.join(names)}.",
                hint=f"Choose one: --{what} NAME",
            )


def _known(series: Sequence[Series]) -> Iterator[tuple[Series, Point]]:
    for one in series:
        for point in one.points:
            if point.value is not None:
                yield one, point
