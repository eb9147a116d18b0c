"""A night as github-action-benchmark reads it: customSmallerIsBetter or customBiggerIsBetter.

A file of it is a list of entries with `name`, `unit` and `value`, and `range` and `extra` where
they are known; all of one direction, which the action's `tool` says.
Source: https://github.com/benchmark-action/github-action-benchmark, `src/extract.ts`.
"""

from collections.abc import Sequence
from typing import Literal

from tracekit.base.errors import UsageError
from tracekit.nightly.history.exports.newest import newest
from tracekit.nightly.history.series import Series

Direction = Literal["lower", "higher"]
TOOLS: dict[Direction, str] = {
    "lower": "customSmallerIsBetter",
    "higher": "customBiggerIsBetter",
}
_OTHER: dict[Direction, Direction] = {"lower": "higher", "higher": "lower"}


def benchmarks(series: Sequence[Series], better: Direction) -> list[dict[str, str | float]]:
    """Return the entries of the last night, of the metrics of which less, or more, is better.

    Raises:
        UsageError: The series are of several machines or plans, or none of them is of that
            direction.
        InconclusiveError: The last night has no value.
    """
    of_direction = [one for one in series if one.better == better]
    if not of_direction:
        raise UsageError(
            f"No metric here is better if it is {better}.",
            hint=f"Ask for the others: --better {_OTHER[better]}",
        )
    found: list[dict[str, str | float]] = []
    for one, point in newest(of_direction):
        assert point.value is not None
        entry: dict[str, str | float] = {
            "name": f"{one.plan}/{one.capture}: {one.metric}",
            "unit": one.unit,
            "value": point.value,
        }
        if point.least is not None and point.most is not None:
            entry["range"] = f"{point.least:g} … {point.most:g}"
        entry["extra"] = f"night {point.night}\npairs {point.pairs}"
        found.append(entry)
    return found
