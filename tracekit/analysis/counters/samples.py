"""Samples of counters while the target's work ran, and what they come to.

Counters are device-wide, sampled at a rate of their own and with gaps. So only samples count that
lie in the target's work for at least half of their length, and in which nobody else used the GPU.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.counters.meaning import RAY_TRACING, Kind, meaning
from tracekit.analysis.coverage import Coverage
from tracekit.analysis.finding import Evidence
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import spans, steady_window
from tracekit.analysis.target import of_target, on_gpu
from tracekit.base.units import percent, quantity

WAYS = (
    "where this chip and Xcode reject that, choose Recording Options > GPU > Counter Set in "
    "Instruments, save it as a template and pass its path with --template, or let "
    "`tracekit templates make` make one."
)
HOW_TO_GET = (
    "A stock Metal System Trace records none. `tracekit record --counters on` asks for them; "
    + WAYS
)
LEAST_COVERED = 0.5
"""Share of a sample that must lie in the target's work."""
FEWEST = 10
"""Samples without which a mean says nothing."""
CONTENTION = 0.05
"""Share of a sample in which other processes may have used the GPU."""
LEAST_OWN = 0.5
"""Share of the samples in the target's work that must be its own."""

_MOST_PERCENT = 110.0  # readings slightly above 100 occur
_SHOWN = 8
_COLUMNS = ["start", "duration", "counter", "value", "percentage"]


def counter_samples(
    gpu_counters: pd.DataFrame | None,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the samples in the steady window that lie in the target's work.

    Columns are start, duration, counter (a category), value, percentage, and `weight`: the ns of
    the sample in which the target's work ran; 1 for a sample without length.

    Raises:
        Unavailable: The work ran on a CPU, there are no samples, or they are others' as well.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    window = steady_window(phases, own)
    assert window is not None
    samples = _recorded(gpu_counters)
    inside = (samples["start"] >= window.start) & (samples["start"] < window.end)
    samples = samples[inside & np.isfinite(samples["value"])]
    starts, ends = spans(samples)
    lengths = np.maximum(ends - starts, 1)
    weights = Coverage.of(*spans(own)).within(starts, starts + lengths)
    chosen = weights >= LEAST_COVERED * lengths
    if not chosen.any():
        raise Unavailable(
            f"none of the {len(samples):,} counter samples in {window.name} lies in work of the "
            f"target: counters are sampled too rarely for work this short, or with gaps."
        )
    others = Coverage.of(*spans(gpu_intervals[~gpu_intervals["target"]]))
    alone = chosen & (others.within(starts, starts + lengths) <= CONTENTION * lengths)
    if alone.sum() < LEAST_OWN * chosen.sum():
        raise Unavailable(
            f"counters are device-wide, and other processes used the GPU in "
            f"{percent(1 - alone.sum() / chosen.sum())} of the samples in the target's work. "
            f"Close what else uses the GPU and record again."
        )
    return samples.assign(weight=weights)[alone]


def counter_means(counter_samples: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each counter whose meaning is known and that has ten samples or more.

    Columns are counter (as the trace calls it), kind, group, unit, samples, mean (as the trace
    counts it, each sample weighted by the target's work in it) and share: the mean as a ratio;
    null where it is no percentage. Values that cannot be percentages are left out, and so are
    bandwidths of no stated unit: some chips count them in percent, others in GB/s.
    """
    codes = counter_samples["counter"].cat.codes.to_numpy()
    order = np.argsort(codes, kind="stable")
    names = counter_samples["counter"].cat.categories
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    values = counter_samples["value"].to_numpy(dtype=np.float64)[order]
    weights = counter_samples["weight"].to_numpy(dtype=np.float64)[order]
    flags = counter_samples["percentage"].to_numpy(dtype=np.float64, na_value=np.nan)[order]
    rows = [
        _mean_of(str(name), values[here], weights[here], flags[here])
        for name, here in zip(names, map(slice, bounds[:-1], bounds[1:]), strict=True)
    ]
    columns = ["counter", "kind", "group", "unit", "samples", "mean", "share"]
    table = pd.DataFrame([row for row in rows if row], columns=columns)
    if table.empty:
        raise Unavailable(_why_none(counter_samples["counter"]))
    return table


def extremes(
    counter_samples: pd.DataFrame, counter: str, *, lowest: bool = False
) -> tuple[Evidence, ...]:
    """Return the samples in which a counter was highest, or lowest, with its value as a note."""
    own = counter_samples[counter_samples["counter"] == counter]
    ordered = own.sort_values(["value", "start"], ascending=[lowest, True], kind="stable")[:_SHOWN]
    starts, ends = spans(ordered)
    ratio = bool(own["percentage"].fillna(value=True).all())  # only bandwidths are GB/s instead
    return tuple(
        Evidence(
            "gpu_counters",
            int(start),
            int(end),
            f"{counter} {percent(value / 100) if ratio else quantity(float(value), 'GB/s')}",
        )
        for start, end, value in zip(starts, ends, ordered["value"], strict=True)
    )


def _recorded(counters: pd.DataFrame | None) -> pd.DataFrame:
    if counters is None or counters.empty:
        raise Unavailable(f"the recording has no counter samples. {HOW_TO_GET}")
    flags = counters["percentage"] if "percentage" in counters else pd.Series(pd.NA, counters.index)
    named = counters["counter"].astype("category")
    if list(named.cat.categories) == [RAY_TRACING]:
        raise Unavailable(f"only {RAY_TRACING} was recorded, which is no compute. {HOW_TO_GET}")
    values = counters["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    table = counters.assign(counter=named, value=values, percentage=flags.astype("boolean"))
    return table.loc[named.notna(), _COLUMNS]


def _why_none(counters: pd.Series) -> str:
    """Say why no counter has a mean: too few samples, or none that is known."""
    there = [(str(name), int(count)) for name, count in counters.value_counts().items()]
    known = [(name, count) for name, count in there if meaning(name)]
    if not known:
        names = ", ".join(name for name, _ in there[:5])
        return f"no counter that is known here was recorded, only: {names}. {HOW_TO_GET}"
    name, count = known[0]
    return (
        f"counters have too few samples in the target's work ({name}, {count}); {FEWEST} of them "
        f"with values that make sense are needed. Record steady work for longer, with --counters "
        f"on; {WAYS}"
    )


def _mean_of(
    name: str, values: NDArray[np.float64], weights: NDArray[np.float64], flags: NDArray[np.float64]
) -> tuple[object, ...]:
    means = meaning(name)
    if means is None:
        return ()
    if means.kind is Kind.BANDWIDTH and np.isnan(flags).all():
        return ()
    ratio = not (flags == 0).any()  # where a trace does not state it, by the counter's meaning
    fits = (values >= 0) & (values <= _MOST_PERCENT) if ratio else values >= 0
    if fits.sum() < FEWEST:
        return ()
    mean = float(np.average(values[fits], weights=weights[fits]))
    share = min(mean / 100, 1.0) if ratio else np.nan
    return (name, means.kind, means.group, means.unit, int(fits.sum()), mean, share)
