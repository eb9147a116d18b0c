"""A night in the Bencher Metric Format, JSON that `bencher run --adapter json --file` reads.

Source: https://bencher.dev/docs/reference/bencher-metric-format
"""

from collections.abc import Sequence

from tracekit.nightly.history.exports.newest import newest
from tracekit.nightly.history.series import Series

Metric = dict[str, float]

AGAINST = "-against-reference"


def bencher(series: Sequence[Series]) -> dict[str, dict[str, Metric]]:
    """Return the last night: captures are benchmarks, metrics are measures.

    A metric's value is the median over pairs, its lower and upper value those of the extreme
    pairs. Beside it stands its change against the reference, with its 95 % interval.

    Raises:
        UsageError: The series are of several machines or plans, or of no night.
        InconclusiveError: The last night has no value.
    """
    found: dict[str, dict[str, Metric]] = {}
    for one, point in newest(series):
        own = found.setdefault(f"{one.plan}/{one.capture}", {})
        own[one.metric] = _metric(point.value, point.least, point.most)
        if point.change is not None:
            own[one.metric + AGAINST] = _metric(point.change, point.low, point.high)
    return found


def _metric(value: float | None, lower: float | None, upper: float | None) -> Metric:
    named = {"value": value, "lower_value": lower, "upper_value": upper}
    return {name: number for name, number in named.items() if number is not None}
