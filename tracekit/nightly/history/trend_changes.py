"""Changes of a series over nights: steps of its level, and drifts."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LevelStep:
    """A change that stayed, from the night `index` on: a place in the series, gaps included.

    `level_before` and `level_after` are medians of the stretches on both sides, of the candidate's
    values or of its changes from the reference, as `basis` says. `change` is a ratio less one, or a
    difference; its 95 % interval takes the night as known, and is None if stretches are too short.
    The stretch may have begun between `earliest` and `latest`.
    """

    index: int
    level_before: float
    level_after: float
    change: float
    lower_bound: float | None = None
    upper_bound: float | None = None
    earliest: int = 0
    latest: int = 0
    basis: Literal["value", "change"] = "value"


@dataclass(frozen=True)
class Ramp:
    """A drift: a change that came a little each night, from `first_night` to `last_night`.

    Both are places in the series, gaps included. `level_before` and `level_after` are the fitted
    line's ends, of values or changes as `basis` says; `change` is the whole change, and `rate` that
    of one measured night, each a ratio less one, or a difference.
    """

    first_night: int
    last_night: int
    level_before: float
    level_after: float
    change: float
    rate: float
    basis: Literal["value", "change"] = "value"


@dataclass(frozen=True)
class Changes:
    """The changes of a series: steps and drifts, each oldest first."""

    steps: tuple[LevelStep, ...] = ()
    ramps: tuple[Ramp, ...] = ()
