"""Where the time went: the target's work by name, and its steps by phase."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import busy, spans
from tracekit.analysis.result import Result
from tracekit.report.naming import families
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
    by_label = [] if device.absence else by_time(device.frame, "channel", device.frame["label"])
    return {
        "groups": by_label[:MOST_ROWS],
        "rest": len(by_label[MOST_ROWS:]),
        "rest_total": sum(group.total for group in by_label[MOST_ROWS:]),
        "busy": busy(*spans(device.frame)) if by_label else None,
        "sum": sum(group.total for group in by_label),
        "absence": device.absence,
        "source": of_table(tables, "gpu_intervals"),
        "steps": [] if marked.absence else by_time(marked.frame, "phase", None),
        "steps_absence": marked.absence,
        "steps_source": of_table(tables, "steps"),
    }


def by_time(frame: pd.DataFrame, column: str, labels: pd.Series | None) -> list[Group]:
    """Group rows by a column and a label; the longest total first.

    Rows without a duration count as none; percentiles are linear between ranks.
    """
    codes, texts = families(labels if labels is not None else frame[column])
    work = pd.DataFrame(
        {
            "channel": frame[column].fillna("not stated").astype(str),
            "label": codes,
            "duration": frame["duration"],
        }
    ).dropna(subset=["duration"])
    whole = int(work["duration"].sum())
    groups = [_group(part, texts, whole) for _, part in work.groupby(["channel", "label"])]
    return sorted(groups, key=lambda group: (-group.total, group.channel, group.label))


def _group(part: pd.DataFrame, texts: tuple[str, ...], whole: int) -> Group:
    durations = part["duration"].to_numpy(dtype=np.int64)
    total = int(durations.sum())
    p50, p95, p99 = (float(one) for one in np.percentile(durations, _PERCENTILES))
    share = total / whole if whole else 0.0
    channel, label = part["channel"].iloc[0], texts[part["label"].iloc[0]]
    return Group(channel, label, durations.size, total, share, p50, p95, p99)


work = Panel("work", "Where the time went", context)
