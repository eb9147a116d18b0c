"""The occupancy of the GPU and its limiters, as far as its counters show them."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis import Result
from tracekit.analysis.counters import CounterKind
from tracekit.base import units
from tracekit.pages.panel import Context, Tables, panel, rows

_SPREAD = (0.05, 0.95)
_TITLES = {
    CounterKind.OCCUPANCY: "Occupancy: threads in flight, of those that fit",
    CounterKind.LIMITER: "Limiters: time in which a unit worked or was stalled",
    CounterKind.UTILIZATION: "Utilization: time in which a unit worked",
    CounterKind.BANDWIDTH: "Bandwidth of memory, as the trace counts it",
    CounterKind.RATE: "Rates",
}
_GIGA = "GB/s"


@panel("Occupancy and limiters", "gpu_counters", "gpu_intervals", opens_on=("gpu_counters",))
def occupancy(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the counters whose meaning is known, by their kind; the highest first."""
    means = rows(tables, "counter_means")
    samples = rows(tables, "counter_samples")
    kinds: list[tuple[str, list[Context]]] = []
    if not means.absence:
        for kind, title in _TITLES.items():
            is_of_kind = (means.frame["kind"] == str(kind)).to_numpy()
            kind_means = means.frame[is_of_kind]
            if len(kind_means):
                kind_rows = list(_rows_of(kind_means, samples.frame))
                kinds.append((title, kind_rows))
    return {"absent": means.absence, "kinds": kinds}


def _rows_of(means: pd.DataFrame, samples: pd.DataFrame) -> Iterator[Context]:
    """Yield each counter: its mean, the range of nine tenths of its samples, a bar if a ratio."""
    ordered = means.sort_values(["mean", "counter"], ascending=[False, True], kind="stable")
    for row in ordered.to_dict("records"):
        is_counter = (samples["counter"] == row["counter"]).to_numpy()
        counter_values = samples.loc[is_counter, "value"]
        numbers = counter_values.to_numpy(dtype=np.float64)
        ends = np.quantile(numbers, _SPREAD)
        lower_end = float(ends[0])
        upper_end = float(ends[1])
        unit = _GIGA
        mean = f"{row['mean']:,.1f} {_GIGA}"
        bar = None
        share = row["share"]
        if not pd.isna(share):
            unit = "%"
            mean = units.percent(share)
            least_shown = max(0.0, lower_end)
            most_shown = min(100.0, upper_end)
            bar = (share * 100, least_shown, most_shown)
        name = str(row["counter"])
        group = str(row["group"])
        spread = f"{lower_end:.1f} to {upper_end:.1f} {unit}"
        yield {
            "name": name,
            "group": group,
            "mean": mean,
            "spread": spread,
            "samples": int(row["samples"]),
            "drawn": bar,
        }
