"""What became of one metric: better, worse, the same, or unclear."""

from dataclasses import dataclass
from enum import StrEnum

from tracekit.analysis.result import Better


class Verdict(StrEnum):
    """What became of something; unclear where the runs do not tell."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Change:
    """What became of one metric.

    Attributes:
        metric: Its name.
        unit: Its unit.
        better: Which direction is good news; a metric with none is not judged.
        before: The median of the runs before; None where they do not have it.
        after: The same of the runs after.
        verdict: What became of it; None where it is not judged.
        change: The change, from `before` to `after`: a ratio less one where `relative`, else a
            difference in the metric's unit. It is corrected where `corrected`.
        low: Lower end of an interval that holds the true change with 95 %; None without one.
        high: Its upper end.
        relative: Whether the change is a ratio.
        corrected: Whether the machine's pace is taken out, by reference work between steps.
        deciding: Whether it takes part in the verdict over all.
        reason: Why it is unclear, or why there is no interval.
        values_before: The value of each run.
        values_after: The same of the runs after.
    """

    metric: str
    unit: str
    better: Better
    before: float | None
    after: float | None
    verdict: Verdict | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    relative: bool = True
    corrected: bool = False
    deciding: bool = False
    reason: str = ""
    values_before: tuple[float, ...] = ()
    values_after: tuple[float, ...] = ()
