"""How a commit moves with the reports before it: by regression.

If the host waits for a report, the next commit comes a microsecond later for each microsecond by
which the report is late; if it does not wait, the commit does not move. The time between two
commits of a thread is therefore regressed on the times, from the first of them, of the latest
report, of the latest before that, and so on, and on the place in the recording. Each slope is then
that of one report, with the others held.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times
from tracekit.analysis.modes import spread

_MIDDLE = 0.5
_NEAR = 0.3  # the largest distance of a slope from 0 or from 1
_SURE = 1.96  # standard errors on both sides of a 95 % interval
_SURER = 2.58  # of a 99 % interval
_SUREST = 3.5  # of the slope of one part among many
_FAR = 6.0  # deviations from which a commit is an accident: a compilation, a pause
_ACCIDENTS = 0.2  # the largest share of commits that are accidents
_ROUNDS = 2

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]


class Wait(IntEnum):
    """Whether the host waited for a report before it went on; NONE without a report to wait for.

    `YES` is the latest report; a larger number the latest but one, and so on.
    """

    NONE = -2
    UNKNOWN = -1
    NO = 0
    YES = 1


@dataclass(frozen=True)
class Slope:
    """How far a commit moves with a report: 1 if the host waits for it, 0 if not."""

    value: float
    error: float

    @property
    def wait(self) -> Wait:
        """The wait that the slope shows; UNKNOWN if its 95 % interval holds one half.

        It is UNKNOWN also if it is surely neither: in mixed places, or if only some commits wait.
        """
        lower = self.value - _SURE * self.error
        upper = self.value + _SURE * self.error
        if lower > _MIDDLE and self.may_be(1):
            return Wait.YES
        if upper < _MIDDLE and self.may_be(0):
            return Wait.NO
        return Wait.UNKNOWN

    def may_be(self, value: float) -> bool:
        """Return whether it is near a value, or by chance not nearer: by its 99 % interval."""
        tolerance = max(_NEAR / 2, _SURER * self.error)
        distance = abs(self.value - value)
        return distance <= min(_NEAR, tolerance)

    def contradicts(self, value: float) -> bool:
        """Return whether it is surely not near a value, even as one of several."""
        tolerance = max(_NEAR / 2, _SUREST * self.error)
        return abs(self.value - value) > tolerance


def slopes_of(commits: Times, reports: list[Times], places: Places) -> list[Slope] | None:
    """Return how the commits at these places of the order move with each of the reports; ns.

    Each of the `reports` has a time for each commit. Ordinary least squares with errors that allow
    for unequal spread (White 1980, HC1); commits that are far from the fit of the others are left
    out. None if the reports do not vary enough.
    """
    previous_commits = commits[places - 1]
    period = (commits[places] - previous_commits).astype(float)
    report_delays = [(times[places] - previous_commits).astype(float) for times in reports]
    constant = np.ones(places.size)
    trend = np.linspace(-1.0, 1.0, places.size)
    table = np.stack([constant, *report_delays, trend], axis=1)
    fit = _fit_slopes(table, period)
    for _ in range(_ROUNDS):
        if fit is None:
            return None
        slopes, _, level = fit
        explained = table[:, 1:] @ slopes
        residuals_of_level = period - level - explained
        inliers = _is_inlier(residuals_of_level)
        if inliers.all():
            break
        fit = _fit_slopes(table[inliers], period[inliers])
    if fit is None:
        return None
    slopes, errors, _ = fit
    number = len(reports)
    listed_slopes = slopes[:number].tolist()
    listed_errors = errors[:number].tolist()
    return list(map(Slope, listed_slopes, listed_errors))


def _is_inlier(residuals: Numbers) -> NDArray[np.bool_]:
    """Return which of the commits are not far from the fit of the others."""
    median_residual = np.median(residuals)
    deviations = np.abs(residuals - median_residual)
    limit = max(_FAR * spread(residuals), 1.0)
    most_accidents = float(np.quantile(deviations, 1 - _ACCIDENTS))
    return deviations <= max(limit, most_accidents)


def _fit_slopes(table: Numbers, period: Numbers) -> tuple[Numbers, Numbers, float] | None:
    """Return slopes, their errors, and the level at which all columns are zero."""
    middle = table.mean(axis=0)
    middle[0] = 0.0
    centred = table - middle
    scale = np.abs(centred).max(axis=0)
    if not scale.all():
        return None
    centred /= scale
    inner = centred.T @ centred
    if np.linalg.matrix_rank(inner) < inner.shape[0]:
        return None
    inverse = np.linalg.inv(inner)
    slopes = inverse @ (centred.T @ period)
    residuals = period - centred @ slopes
    weighted = centred * (residuals**2)[:, np.newaxis]
    spread = weighted.T @ centred
    spare_count = max(1, period.size - inner.shape[0])
    freedom = period.size / spare_count
    covariance = inverse @ spread @ inverse
    variances = np.maximum(np.diag(covariance) * freedom, 0.0)
    errors = np.sqrt(variances) / scale
    slopes /= scale
    middle_explained = middle[1:] @ slopes[1:]
    level = float(slopes[0] - middle_explained)
    return slopes[1:], errors[1:], level
