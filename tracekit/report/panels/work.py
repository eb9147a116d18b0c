"""Where the time went: the target's work by name, and its steps by phase."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Times, busy, families, grouped, spans, variants
from tracekit.report.panel import Context, Panel, Tables, of_table, of_target, rows

MOST_ROWS = 20
STEADY = "steady"
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Group:
    """Equal work: how often, how long, first when; times in ns, `share` of all groups' sum."""

    channel: str
    label: str
    count: int
    total: int
    share: float
    p50: float
    p95: float
    p99: float
    first: int


@dataclass(frozen=True)
class Pipeline:
    """A pipeline or a shader: when (ns) and in which phase the recording first saw it."""

    name: str
    seen: str
    first: int
    phase: str

    @property
    def late(self) -> bool:
        """Whether that was after the warm-up."""
        return self.phase == STEADY


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
        "steady": _steady_begin(tables),
        **_pipelines(tables),
    }


def _pipelines(tables: Tables) -> Context:
    """Return the pipelines that a table knows of, those that came after the warm-up first."""
    made, seen = rows(tables, "specializations"), of_target(tables, "shaders")
    found = [*_first(made.frame, "the workload"), *_first(seen.frame, "the trace")]
    phases = rows(tables, "phases").frame.sort_values("start", kind="stable")
    begins, names = phases["start"].to_numpy(dtype=np.int64), phases["name"].tolist()
    known = [
        Pipeline(name, by, at, str(names[place]) if (place := _place(begins, at)) >= 0 else "")
        for name, by, at in found
    ]
    ordered = sorted(known, key=lambda one: (not one.late, one.first, one.name))
    return {
        "pipelines": ordered[:MOST_ROWS],
        "more_pipelines": len(ordered[MOST_ROWS:]),
        "pipelines_absence": "" if known else f"{made.absence}, and {seen.absence}",
    }


def _place(begins: Times, at: int) -> int:
    return int(np.searchsorted(begins, at, side="right")) - 1


def _first(table: pd.DataFrame, by: str) -> list[tuple[str, str, int]]:
    firsts = table.groupby(table["name"].fillna("not named").astype(str), sort=True)["time"].min()
    return [(str(name), by, int(at)) for name, at in firsts.items()]


def _steady_begin(tables: Tables) -> int | None:
    phases = rows(tables, "phases").frame
    begins = phases.loc[(phases["name"] == STEADY).to_numpy(), "start"]
    return int(begins.min()) if len(begins) else None


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
    begins = frame["start"][known].to_numpy(dtype=np.int64)
    firsts = pd.Series(begins).groupby(codes, sort=True).min().to_numpy()
    columns = (found.codes, found.counts, found.totals, found.percentiles, firsts)
    groups = [
        Group(
            names[code // len(texts)],
            texts[code % len(texts)],
            count,
            total,
            total / whole if whole else 0.0,
            percentiles[0],
            percentiles[1],
            percentiles[2],
            first,
        )
        for code, count, total, percentiles, first in zip(
            *(one.tolist() for one in columns), strict=True
        )
    ]
    return sorted(groups, key=lambda group: (-group.total, group.channel, group.label))


work = Panel(
    "work",
    "Kernels and pipelines",
    context,
    reads=("gpu_intervals", "steps", "specializations", "shaders", "phases"),
)
