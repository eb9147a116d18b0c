"""Where the time went: the target's work by name, and its steps by phase."""

from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.report.panel import Context, Tables, of_table, of_target, panel, rows
from tracekit.tables import families

MOST_ROWS = 20
STEADY = "steady"
_PERCENTILES = (50, 95, 99)


@panel("Kernels and pipelines", "gpu_intervals", "steps", "specializations", "shaders", "phases")
def work(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Group the target's work on the device, and the workload's steps."""
    device = of_target(tables, "gpu_intervals")
    marked = rows(tables, "steps")
    labels = marked.frame["variant"] if analysis.variants(marked.frame) else None
    phases = rows(tables, "phases").frame
    begins = phases.loc[(phases["name"] == STEADY).to_numpy(), "start"]
    iterations = rows(tables, "iterations").frame
    by_label = []
    if not device.absence:
        by_label = by_time(device.frame, "channel", device.frame["label"])
        if len(iterations):
            with suppress(KeyError, analysis.Unavailable):
                _count_by_iteration(by_label, device.frame, tables["loop"], len(iterations))
    return {
        "unit": analysis.unit(iterations) if by_label and "each" in by_label[0] else "",
        "groups": by_label[:MOST_ROWS],
        "rest": len(by_label[MOST_ROWS:]),
        "rest_total": sum(group["total"] for group in by_label[MOST_ROWS:]),
        "busy": analysis.busy(*analysis.spans(device.frame)) if by_label else None,
        "sum": sum(group["total"] for group in by_label),
        **_without_names(tables, [str(group["label"]) for group in by_label]),
        "absence": device.absence,
        "source": of_table(tables, "gpu_intervals"),
        "steps": [] if marked.absence else by_time(marked.frame, "phase", labels),
        "varied": labels is not None,
        "steps_absence": marked.absence,
        "steps_source": of_table(tables, "steps"),
        "steady": int(begins.min()) if len(begins) else None,
        **_pipelines(tables),
    }


def _without_names(tables: Tables, labels: list[str]) -> Context:
    """Return the work of the loop by channel, and by equal length where no label names a kernel."""
    unnamed_work: Context = {"channels": [], "lengths": []}
    with suppress(KeyError, analysis.Unavailable):
        channels = tables["channels"]
        if len(channels["device"].unique()) == 1:
            unnamed_work["channels"] = channels.to_dict("records")
        if all(map(analysis.is_unnamed, labels)):
            unnamed_work["lengths"] = tables["work_groups"][:MOST_ROWS].to_dict("records")
    return unnamed_work


def _pipelines(tables: Tables) -> Context:
    """Return pipelines, those first that came after the warm-up, and in which phase each came."""
    specialization_rows, shader_rows = rows(tables, "specializations"), of_target(tables, "shaders")
    pipelines = [
        *_find_first_times(specialization_rows.frame, "the workload"),
        *_find_first_times(shader_rows.frame, "the trace"),
    ]
    phases = rows(tables, "phases").frame.sort_values("start", kind="stable")
    begins, names = phases["start"].to_numpy(dtype=np.int64), ["", *phases["name"].astype(str)]
    phase_of = [
        names[int(np.searchsorted(begins, first_time, side="right"))]
        for *_, first_time in pipelines
    ]
    pipeline_rows = [
        {"name": name, "seen": by, "first": first_time, "phase": phase, "late": phase == STEADY}
        for (name, by, first_time), phase in zip(pipelines, phase_of, strict=True)
    ]
    ordered = sorted(pipeline_rows, key=lambda row: (not row["late"], row["first"], row["name"]))
    return {
        "pipelines": ordered[:MOST_ROWS],
        "more_pipelines": len(ordered[MOST_ROWS:]),
        "pipelines_absence": ""
        if pipeline_rows
        else f"{specialization_rows.absence}, and {shader_rows.absence}",
    }


def _find_first_times(table: pd.DataFrame, by: str) -> list[tuple[str, str, int]]:
    firsts = table.groupby(table["name"].fillna("not named").astype(str), sort=True)["time"].min()
    return [(str(name), by, int(first_time)) for name, first_time in firsts.items()]


def _count_by_iteration(
    groups: list[dict[Hashable, Any]], frame: pd.DataFrame, loop: analysis.Window, iterations: int
) -> None:
    """Add to each group how often an iteration of the loop has it: `each`."""
    loop_rows = loop.rows(frame)
    loop_groups = by_time(loop_rows, "channel", loop_rows["label"]) if len(loop_rows) else []
    counts = {(group["channel"], group["label"]): group["count"] for group in loop_groups}
    for group in groups:
        group["each"] = counts.get((group["channel"], group["label"]), 0) / iterations


def by_time(
    frame: pd.DataFrame, column: str, labels: pd.Series | None
) -> list[dict[Hashable, Any]]:
    """Group rows by a column and a label; the longest total first.

    Each group says how often, how long in all, which share of all groups' sum, and first when;
    times are in ns. Rows without a duration count as none; percentiles are linear between ranks.
    """
    labelled, texts = families(labels if labels is not None else frame[column])
    channels, names = pd.factorize(frame[column].fillna("not stated").astype(str))
    has_duration = frame["duration"].notna().to_numpy()
    codes = (channels * len(texts) + labelled.to_numpy())[has_duration]
    group_statistics = analysis.grouped(
        codes, frame["duration"][has_duration].to_numpy(dtype=np.int64), _PERCENTILES
    )
    starts = pd.Series(frame["start"][has_duration].to_numpy(dtype=np.int64))
    groups = pd.DataFrame(
        {
            "channel": [str(names[code // len(texts)]) for code in group_statistics.codes],
            "label": [texts[code % len(texts)] for code in group_statistics.codes],
            "count": group_statistics.counts,
            "total": group_statistics.totals,
            "share": group_statistics.totals / (group_statistics.totals.sum() or 1),
            **dict(zip(("p50", "p95", "p99"), group_statistics.percentiles.T, strict=True)),
            "first": starts.groupby(codes, sort=True).min().to_numpy(),
        }
    )
    ordered = groups.sort_values(["total", "channel", "label"], ascending=[False, True, True])
    return ordered.to_dict("records")
