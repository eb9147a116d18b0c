"""What many measurements of one thing say."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.base.errors import InputError

PERCENTILES = "linear between ranks"
OUTLIERS = (
    "none is dropped: the median and the MAD bear them; the filtered mean leaves out what is more "
    "than 2 standard deviations from the mean, and stands beside"
)
_SIGMAS = 2


@dataclass(frozen=True)
class Summary:
    """Samples in numbers, in the unit of the samples.

    Attributes:
        count: Samples.
        mean: Their mean.
        std: Their standard deviation, with `count - 1` in the denominator; None of one sample.
        median: The middle one, or the mean of the two middle ones.
        mad: The median of the distances from the median, not scaled to a standard deviation.
        p50: As `median`; percentiles are linear between ranks.
        p95: 95 of 100 are at most as large.
        p99: 99 of 100 are at most as large.
        min: The least.
        max: The greatest.
        filtered_mean: The mean of those at most 2 standard deviations from the mean.
        filtered_out: How many that leaves out.
    """

    count: int
    mean: float
    std: float | None
    median: float
    mad: float
    p50: float
    p95: float
    p99: float
    min: float
    max: float
    filtered_mean: float
    filtered_out: int


def summarize(samples: Sequence[float]) -> Summary:
    """Summarize samples; raise InputError if there is none, or one is no finite number."""
    values = np.asarray(samples, np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise InputError("Statistics need samples, and each of them a finite number.")
    mean, median = float(values.mean()), float(np.median(values))
    std = float(values.std(ddof=1)) if values.size > 1 else None
    near = values if std is None else values[np.abs(values - mean) <= _SIGMAS * std]
    p50, p95, p99 = np.percentile(values, (50, 95, 99), method="linear")
    return Summary(
        count=values.size,
        mean=mean,
        std=std,
        median=median,
        mad=float(np.median(np.abs(values - median))),
        p50=float(p50),
        p95=float(p95),
        p99=float(p99),
        min=float(values.min()),
        max=float(values.max()),
        filtered_mean=float(near.mean()),
        filtered_out=values.size - near.size,
    )
