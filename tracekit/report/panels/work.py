"""Where the time went: the target's work by name, and its steps by phase."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.families import families
from tracekit.analysis.intervals import busy, spans
from tracekit.analysis.metrics.steps import variants
from tracekit.analysis.percentiles import grouped
from tracekit.analysis.result import Result
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.rows import of_target, rows
from tracekit.report.sources import of_table

MOST_ROWS = 20
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Group:
    """Equal work: how often, how long; times in ns, `share` of the sum over all groups."""

    channel: str
    label: str
    count: int
    total: int
    share: float
    p50: float
    p95: float
    p99: float


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Group the target's work on the device, and the workload's steps."""
    device = of_target(tables, "gpu_intervals")
    marked = rows(tables, "steps")
    labels = marked.frame["variant"] if variants(marked.frame) else None
    by_label = [] if device.absence else by_time(device.frame, "channel", device.frame["label"])
    return {
        "groups": by_label[:MOST_ROWS],
        "rest": len(by_label[MOST_ROWS:]),
        "rest_total": sum(group.total for group in by_label[MOST_ROWS:]),
        "busy": busy(*spans(device.frame)) if by_label else None,
        "sum": sum(group.total for group in by_label),
        "absence": device.absence,
        "source": of_table(tables, "gpu_intervals"),
        "steps": [] if marked.absence else by_time(marked.frame, "phase", labels),
        "varied": labels is not None,
        "steps_absence": marked.absence,
        "steps_source": of_table(tables, "steps"),
    }


def by_time(frame: pd.DataFrame, column: str, labels: pd.Series | None) -> list[Group]:
    """Group rows by a column and a label; the longest total first.

    Rows without a duration count as none; percentiles are linear between ranks.
    """
    labelled, texts = families(labels if labels is not None else frame[column])
    channels, names = pd.factorize(frame[column].fillna("not stated").astype(str))
    names = [str(name) for name in names]
    known = frame["duration"].notna().to_numpy()
    codes = (channels * len(texts) + labelled.to_numpy())[known]
    durations = frame["duration"][known].to_numpy(dtype=np.int64)
    found = grouped(codes, durations, _PERCENTILES)
    whole = int(found.totals.sum())
    columns = (found.codes, found.counts, found.totals, found.percentiles)
    groups = [
        Group(
            names[code // len(texts)],
            texts[code % len(texts)],
            count,
            total,
            total / whole if whole else 0.0,
            *percentiles,
        )
        for code, count, total, percentiles in zip(*(one.tolist() for one in columns), strict=True)
    ]
    return sorted(groups, key=lambda group: (-group.total, group.channel, group.label))


work = Panel("work", "Where the time went", context, reads=("gpu_intervals", "steps"))
