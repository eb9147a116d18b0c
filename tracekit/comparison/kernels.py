"""The changes of device work between two sides, matched by label."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tracekit import analysis, tables
from tracekit.base import TracekitError
from tracekit.comparison.samples import Sample

if TYPE_CHECKING:
    import pandas as pd

_PERCENTILES = (50, 95)


@dataclass(frozen=True)
class Kernel:
    """All intervals of one label in a run, or the median of that over runs; times in ns."""

    count: float
    total: float
    p50: float
    p95: float


@dataclass(frozen=True)
class KernelChange:
    """The change of the work of one label; None for a side without that work.

    `ratio` is after / before of the median interval, None if a side has none.
    """

    label: str
    before: Kernel | None
    after: Kernel | None
    ratio: float | None


def kernel_changes(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[KernelChange, ...]:
    """Match work by label; the largest changes of the total time come first.

    Runs whose tables are gone take no part.
    """
    old = _kernels(samples_before)
    new = _kernels(samples_after)
    labels = {**old, **new}
    changes = [_kernel_change(label, old.get(label), new.get(label)) for label in labels]
    changes.sort(key=lambda change: (-_shift_of_total(change), change.label))
    return tuple(changes)


def _kernel_change(
    label: str, kernel_before: Kernel | None, kernel_after: Kernel | None
) -> KernelChange:
    ratio = None
    if kernel_before and kernel_after and kernel_before.p50 > 0:
        ratio = kernel_after.p50 / kernel_before.p50
    return KernelChange(label, kernel_before, kernel_after, ratio)


def _shift_of_total(change: KernelChange) -> float:
    total_before = change.before.total if change.before else 0
    total_after = change.after.total if change.after else 0
    return abs(total_after - total_before)


def _kernels(samples: Sequence[Sample]) -> dict[str, Kernel]:
    """Return the kernels of one side: of each label the median over the runs that have it."""
    kernels_by_label: dict[str, list[Kernel]] = {}
    for sample in samples:
        kernels_of_run = sample.measures.take(
            "kernels", dict[str, Kernel], partial(_measure_kernels, sample)
        )
        for label, kernel in kernels_of_run.items():
            kernels_by_label.setdefault(label, []).append(kernel)
    return {label: _median_kernel(kernels) for label, kernels in kernels_by_label.items()}


def _measure_kernels(sample: Sample) -> dict[str, Kernel]:
    """Return the kernels of a run by label; none if it lacks the table."""
    try:
        frame = sample.open_tables()["gpu_intervals"]
    except (KeyError, TracekitError):
        return {}
    return dict(_kernels_of_run(frame))


def _kernels_of_run(gpu_intervals: pd.DataFrame) -> Iterator[tuple[str, Kernel]]:
    """Yield the label and the kernel of each kind of work of the target in one run."""
    is_of_target = gpu_intervals["target"].astype(bool)
    rows = gpu_intervals[is_of_target & gpu_intervals["duration"].notna()]
    codes, labels = tables.families(rows["label"])
    durations = rows["duration"].to_numpy(dtype="int64")
    groups = analysis.intervals.grouped(codes.to_numpy(), durations, _PERCENTILES)
    rows_of_groups = zip(
        groups.codes.tolist(),
        groups.counts.tolist(),
        groups.totals.tolist(),
        groups.percentiles.tolist(),
        strict=True,
    )
    for code, count, total, (p50, p95) in rows_of_groups:
        yield labels[code], Kernel(float(count), float(total), p50, p95)


def _median_kernel(kernels: Sequence[Kernel]) -> Kernel:
    return Kernel(
        count=statistics.median(kernel.count for kernel in kernels),
        total=statistics.median(kernel.total for kernel in kernels),
        p50=statistics.median(kernel.p50 for kernel in kernels),
        p95=statistics.median(kernel.p95 for kernel in kernels),
    )
