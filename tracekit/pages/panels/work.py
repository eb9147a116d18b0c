"""The distribution of time: the target's work by name, and its steps by phase."""

from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.panel import Context, Tables, of_table, of_target, panel, rows
from tracekit.pages.text import line
from tracekit.tables import families

FIRST_ROWS = 8
"""The rows of a table that are read at once; those behind them are folded."""
MOST_ROWS = 20
STEADY = "steady"
_PERCENTILES = (50, 95, 99)
_OF_WORK = ("start", "duration", "channel", "kernel", "label")


@panel("Kernels and pipelines", "gpu_intervals", "steps", "specializations", "shaders", "phases")
def work(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Group the target's work on the device, and the workload's steps."""
    context = {**_device_work(tables), **_steps(tables), **_pipelines(tables)}
    has_content = context["groups"] or context["steps"] or context["pipelines"]
    absent = ""
    if not has_content:
        absent = f"{context['absence']}, and {context['steps_absence']}"
    gist = ""
    if context["groups"]:
        first = context["groups"][0]
        gist = f"{units.percent(first['share'])} in {line(str(first['label']), 60)}"
    return {**context, "absent": absent, "gist": gist, "first_rows": FIRST_ROWS}


def _device_work(tables: Tables) -> Context:
    """Group the target's work on the device by channel and label."""
    device = of_target(tables, "gpu_intervals")
    iterations = rows(tables, "iterations").frame
    groups: list[dict[Hashable, Any]] = []
    busy = None
    unit = ""
    if not device.absence:
        work_rows = device.frame[[name for name in _OF_WORK if name in device.frame]]
        groups = by_time(work_rows, "channel", _label_work(work_rows))
        if len(iterations):
            with suppress(KeyError, analysis.Unavailable):
                _count_by_iteration(groups, work_rows, tables["loop"], len(iterations))
    if groups:
        busy = analysis.intervals.busy(*analysis.intervals.spans(device.frame))
        if "each" in groups[0]:
            unit = analysis.unit(iterations)
    labels = [str(group["label"]) for group in groups]
    unlisted_groups = groups[MOST_ROWS:]
    rest_total = sum(group["total"] for group in unlisted_groups)
    all_groups_total = sum(group["total"] for group in groups)
    return {
        "unit": unit,
        "groups": groups[:FIRST_ROWS],
        "further_groups": groups[FIRST_ROWS:MOST_ROWS],
        "rest": len(unlisted_groups),
        "rest_total": rest_total,
        "busy": busy,
        "sum": all_groups_total,
        **_without_names(tables, labels),
        "absence": device.absence,
        "source": of_table(tables, "gpu_intervals"),
    }


def _label_work(work_rows: pd.DataFrame) -> pd.Series:
    """Return the kernels of pieces of work, or their labels if no kernel is known."""
    has_kernels = "kernel" in work_rows and work_rows["kernel"].notna().any()
    if has_kernels or "label" not in work_rows:
        return work_rows["kernel"]
    return work_rows["label"]


def _steps(tables: Tables) -> Context:
    """Group the workload's steps by phase, and by variant if they have some."""
    step_rows = rows(tables, "steps")
    phases = rows(tables, "phases").frame
    is_steady = (phases["name"] == STEADY).to_numpy()
    begins = phases.loc[is_steady, "start"]
    steady_begin = None
    if len(begins):
        steady_begin = int(begins.min())
    variants = None
    if analysis.scope.variants(step_rows.frame):
        variants = step_rows.frame["variant"]
    steps: list[dict[Hashable, Any]] = []
    if not step_rows.absence:
        steps = by_time(step_rows.frame, "phase", variants)
    return {
        "steps": steps,
        "varied": variants is not None,
        "steps_absence": step_rows.absence,
        "steps_source": of_table(tables, "steps"),
        "steady": steady_begin,
    }


def _without_names(tables: Tables, labels: list[str]) -> Context:
    """Return the work of the loop by channel, and by equal length if no label names a kernel."""
    unnamed_work: Context = {"channels": [], "lengths": []}
    with suppress(KeyError, analysis.Unavailable):
        channels = tables["channels"]
        if len(channels["device"].unique()) == 1:
            unnamed_work["channels"] = channels.to_dict("records")
        if all(map(analysis.is_unnamed, labels)):
            listed_groups = tables["work_groups"][:MOST_ROWS]
            unnamed_work["lengths"] = listed_groups.to_dict("records")
    return unnamed_work


def _pipelines(tables: Tables) -> Context:
    """Return pipelines with the phase of each; those made after the warm-up come first."""
    specialization_rows = rows(tables, "specializations")
    shader_rows = of_target(tables, "shaders")
    of_workload = _find_first_times(specialization_rows.frame, "the workload")
    of_trace = _find_first_times(shader_rows.frame, "the trace")
    first_times = [
        *of_workload,
        *of_trace,
    ]
    phases = rows(tables, "phases").frame.sort_values("start", kind="stable")
    begins = phases["start"].to_numpy(dtype=np.int64)
    phase_names = ["", *phases["name"].astype(str)]
    pipelines: list[Context] = []
    for name, by, first_time in first_times:
        phase_number = int(np.searchsorted(begins, first_time, side="right"))
        phase = phase_names[phase_number]
        is_late = phase == STEADY
        pipeline = {"name": name, "seen": by, "first": first_time, "phase": phase, "late": is_late}
        pipelines.append(pipeline)
    absence = ""
    if not pipelines:
        absence = f"{specialization_rows.absence}, and {shader_rows.absence}"
    pipelines.sort(key=lambda row: (not row["late"], row["first"], row["name"]))
    return {
        "pipelines": pipelines[:MOST_ROWS],
        "more_pipelines": len(pipelines[MOST_ROWS:]),
        "pipelines_absence": absence,
    }


def _find_first_times(table: pd.DataFrame, by: str) -> list[tuple[str, str, int]]:
    names = table["name"].fillna("not named").astype(str)
    firsts = table.groupby(names, sort=True)["time"].min()
    return [(str(name), by, int(first_time)) for name, first_time in firsts.items()]


def _count_by_iteration(
    groups: list[dict[Hashable, Any]],
    frame: pd.DataFrame,
    loop: analysis.intervals.Window,
    iterations: int,
) -> None:
    """Add `each` to each group: its number of rows in an iteration of the loop, on average."""
    loop_rows = loop.rows(frame)
    counts: dict[tuple[str, str], int] = {}
    if len(loop_rows):
        for group in by_time(loop_rows, "channel", _label_work(loop_rows)):
            counts[group["channel"], group["label"]] = group["count"]
    for group in groups:
        count = counts.get((group["channel"], group["label"]), 0)
        group["each"] = count / iterations


def by_time(
    frame: pd.DataFrame, column: str, labels: pd.Series | None
) -> list[dict[Hashable, Any]]:
    """Group rows by a column and a label; the longest total first.

    Each group has its count, its total time, its share of the sum of all groups, and the time of
    its first row; times are in ns. Rows without a duration are left out; percentiles are linear
    between ranks.
    """
    if labels is None:
        labels = frame[column]
    labelled, texts = families(labels)
    channels, names = analysis.scope.text_codes(frame, column, "not stated")
    has_duration = frame["duration"].notna().to_numpy()
    all_codes = channels * len(texts) + labelled.to_numpy()
    codes = all_codes[has_duration]
    known_durations = frame["duration"][has_duration]
    durations = known_durations.to_numpy(dtype=np.int64)
    known_starts = frame["start"][has_duration].to_numpy(dtype=np.int64)
    starts = pd.Series(known_starts)
    statistics = analysis.intervals.grouped(codes, durations, _PERCENTILES)
    percentiles = statistics.percentiles.T
    total = statistics.totals.sum() or 1
    group_channels = [str(names[code // len(texts)]) for code in statistics.codes]
    group_labels = [texts[code % len(texts)] for code in statistics.codes]
    firsts = starts.groupby(codes, sort=True).min().to_numpy()
    groups = pd.DataFrame(
        {
            "channel": group_channels,
            "label": group_labels,
            "count": statistics.counts,
            "total": statistics.totals,
            "share": statistics.totals / total,
            "p50": percentiles[0],
            "p95": percentiles[1],
            "p99": percentiles[2],
            "first": firsts,
        }
    )
    ordered = groups.sort_values(["total", "channel", "label"], ascending=[False, True, True])
    return ordered.to_dict("records")
