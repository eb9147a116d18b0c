"""How full the GPU was and what held it back, as far as its counters tell."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis import CounterKind, Result
from tracekit.base import percent
from tracekit.report.panel import Context, Tables, panel, rows

_SPREAD = (0.05, 0.95)
_TITLES = {
    CounterKind.OCCUPANCY: "Occupancy: threads in flight, of those that fit",
    CounterKind.LIMITER: "Limiters: time in which a unit worked or was stalled",
    CounterKind.UTILIZATION: "Utilization: time in which a unit worked",
    CounterKind.BANDWIDTH: "Bandwidth of memory, as the trace counts it",
    CounterKind.RATE: "Rates",
}
_GIGA = "GB/s"


@panel("Occupancy and limiters", "gpu_counters", "gpu_intervals")
def occupancy(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the counters whose meaning is known, by their kind; the highest first."""
    means, samples = rows(tables, "counter_means"), rows(tables, "counter_samples")
    counter_means = means.frame
    return {
        "absence": means.absence,
        "kinds": [
            (
                title,
                list(
                    _rows_of(
                        counter_means[(counter_means["kind"] == str(kind)).to_numpy()],
                        samples.frame,
                    )
                ),
            )
            for kind, title in _TITLES.items()
            if not means.absence and (counter_means["kind"] == str(kind)).any()
        ],
    }


def _rows_of(means: pd.DataFrame, samples: pd.DataFrame) -> Iterator[Context]:
    """Yield each counter: its mean, where nine tenths of its samples lie, a bar if a ratio."""
    ordered = means.sort_values(["mean", "counter"], ascending=[False, True], kind="stable")
    for row in ordered.to_dict("records"):
        counter_values = samples.loc[(samples["counter"] == row["counter"]).to_numpy(), "value"]
        lower_bound, upper_bound = (
            float(end) for end in np.quantile(counter_values.to_numpy(dtype=np.float64), _SPREAD)
        )
        mean, share = row["mean"], row["share"]
        ratio = not pd.isna(share)
        yield {
            "name": str(row["counter"]),
            "group": str(row["group"]),
            "mean": percent(share) if ratio else f"{mean:,.1f} {_GIGA}",
            "spread": f"{lower_bound:.1f} to {upper_bound:.1f} {'%' if ratio else _GIGA}",
            "samples": int(row["samples"]),
            "drawn": (share * 100, max(0.0, lower_bound), min(100.0, upper_bound))
            if ratio
            else None,
        }
