"""One metric over nights: what trend pages draw, and what change points are looked for in."""

from dataclasses import dataclass, field
from typing import Any, Literal

from tracekit.compare.verdicts import Scale
from tracekit.nightly.history.night import Outcome


@dataclass(frozen=True)
class Point:
    """What one night says of a series.

    Attributes:
        night: The night's id.
        at: When it began, ISO 8601 in UTC.
        value: The median of the candidate's pairs that count; None where none does.
        reference: The same of the reference; None where there is none.
        change: The candidate from the reference of that night, on the series' scale; what is
            expected is not taken off. None where there is no reference.
        low: Lower end of the 95 % interval of `change`; None where there are too few pairs.
        high: Its upper end.
        least: The least pair's value, of the candidate.
        most: The greatest.
        pairs: How many pairs count.
        outcome: How the metric ended that night; None where it is followed only.
        reason: Why.
        night_outcome: How the night ended; a point without a value says why in `reason`.
        commit: The git commit of the night.
        environment: Facts of the machine and its software that night.
        folder: Where the night's files are.
    """

    night: str
    at: str
    value: float | None
    reference: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    least: float | None = None
    most: float | None = None
    pairs: int = 0
    outcome: Outcome | None = None
    reason: str = ""
    night_outcome: Outcome | None = None
    commit: str = ""
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    folder: str = ""


@dataclass(frozen=True)
class Series:
    """One metric of one capture on one machine, oldest night first.

    Its nights did the same work against the same reference; a plan that changes either begins
    another series. `threshold` and `gated` are those of the last night.
    """

    machine: str
    plan: str
    capture: str
    work: str
    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    scale: Scale = "ratio"
    threshold: float = 0.03
    gated: bool = True
    points: tuple[Point, ...] = ()
