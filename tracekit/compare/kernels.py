"""The target's work by name, before and after: equal labels are equal work."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.families import families
from tracekit.analysis.percentiles import grouped
from tracekit.base.errors import TracekitError
from tracekit.compare.sample import Sample

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
    """What became of the work of one label; None where a side has none of it.

    `ratio` is after / before of the median interval, None where a side has none.
    """

    label: str
    before: Kernel | None
    after: Kernel | None
    ratio: float | None


def kernel_changes(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[KernelChange, ...]:
    """Match work by label; what gained or lost most time in sum comes first.

    Runs whose tables are gone take no part.
    """
    old, new = _side(before), _side(after)
    found = [_change(label, old.get(label), new.get(label)) for label in {**old, **new}]
    return tuple(sorted(found, key=lambda one: (-_shift(one), one.label)))


def _change(label: str, before: Kernel | None, after: Kernel | None) -> KernelChange:
    ratio = after.p50 / before.p50 if before and after and before.p50 > 0 else None
    return KernelChange(label, before, after, ratio)


def _shift(change: KernelChange) -> float:
    before, after = (side.total if side else 0 for side in (change.before, change.after))
    return abs(after - before)


def _side(samples: Sequence[Sample]) -> dict[str, Kernel]:
    """Return the kernels of one side: of each label the median over the runs that have it."""
    by_label: dict[str, list[Kernel]] = {}
    for sample in samples:
        for label, kernel in _kernels(sample.tables or {}).items():
            by_label.setdefault(label, []).append(kernel)
    return {label: _middle(kernels) for label, kernels in by_label.items()}


def _middle(kernels: Sequence[Kernel]) -> Kernel:
    rows = [(one.count, one.total, one.p50, one.p95) for one in kernels]
    return Kernel(*(statistics.median(column) for column in zip(*rows, strict=True)))


def _kernels(tables: Mapping[str, pd.DataFrame]) -> dict[str, Kernel]:
    try:
        frame = tables["gpu_intervals"]
    except (KeyError, TracekitError):
        return {}
    own = frame[frame["target"].astype(bool) & frame["duration"].notna()]
    codes, names = families(own["label"])
    durations = own["duration"].to_numpy(dtype=np.int64)
    found = grouped(codes.to_numpy(), durations, _PERCENTILES)
    columns = (found.codes, found.counts, found.totals, found.percentiles)
    return {
        names[code]: Kernel(float(count), float(total), *map(float, percentiles))
        for code, count, total, percentiles in zip(*(one.tolist() for one in columns), strict=True)
    }
