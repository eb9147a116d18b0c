"""A panel: one section of the page; its tables are frames, its numbers name their source."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Rows, rows

Tables = Mapping[str, Any]
Context = Mapping[str, Any]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True)
class Panel:
    """One section of the page; its `name` is its id there, and the stem of its template.

    `context` makes the template's context, and is a pure function of a result and its tables; None
    leaves the section out, for panels that apply to some runs only. A context may have two keys
    for the page itself: `gist` is a line about the content, for readers who do not open the
    section, and `absent` is the reason why there is no content at all. `reads` are the tables
    whose rows it shows, in addition to those of metrics and rules. Its section is open at first if
    the evidence of a finding is in a table of `opens_on`.
    """

    name: str
    title: str
    context: Callable[[analysis.Result, Tables], Context | None]
    reads: tuple[str, ...] = ()
    opens_on: tuple[str, ...] = ()

    def shows_evidence(self, findings: Iterable[analysis.Finding]) -> bool:
        """Return whether the evidence of a finding is in a table that the panel is about."""
        evidence_tables: set[str] = set()
        for finding in findings:
            evidence_tables.update(evidence.table for evidence in finding.evidence)
        return not evidence_tables.isdisjoint(self.opens_on)


def panel(
    title: str, *reads: str, opens_on: tuple[str, ...] | None = None
) -> Callable[[Callable[[analysis.Result, Tables], Context | None]], Panel]:
    """Make a function the panel of its name; see `Panel` for the title and the tables.

    By default a panel opens on the evidence of all tables that it reads.
    """
    opening_tables = reads if opens_on is None else opens_on
    return lambda context: Panel(context.__name__, title, context, reads, opening_tables)


def of_target(tables: Tables, name: str) -> Rows:
    """Return the target's rows of a table whose rows belong to processes."""
    return rows(tables, name).of_target()


REPLAY = "replay_counters"
DISPATCHES = "dispatches"


def is_without_gpu_work(tables: Tables) -> bool:
    """Return whether a recording has no timed GPU work.

    It has CPU samples, the counters of a replay, or the dispatches of a frame capture instead.
    """
    if "gpu_intervals" in tables:
        return False
    others = (*analysis.profile.PROFILES, REPLAY, DISPATCHES)
    return any(name in tables for name in others)


def group_by_key(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    """Return the values of each key, both in the order in which they came."""
    groups: dict[_K, list[_V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def variants_of(frame: pd.DataFrame) -> pd.Series:
    """Return the variant of each row; empty if a row, or the table, does not name one."""
    if "variant" not in frame:
        return pd.Series("", index=frame.index).astype(str)
    return frame["variant"].fillna("").astype(str)


def phase_begins(tables: Tables) -> list[tuple[float, str]]:
    """Return the begin of each phase, with its name."""
    phases = rows(tables, "phases").frame
    begins = [float(start) for start in phases["start"]]
    names = map(str, phases["name"])
    return list(zip(begins, names, strict=True))


def marked_window(tables: Tables) -> analysis.intervals.Window | None:
    """Return the steady window that the workload marked; None if it marked none."""
    phases = rows(tables, "phases").frame
    return analysis.intervals.steady_window(phases, phases.iloc[:0])


def steady_or_busy_window(tables: Tables) -> analysis.intervals.Window | None:
    """Return the marked window, else the time from the target's first to its last interval."""
    phases = rows(tables, "phases").frame
    intervals = of_target(tables, "gpu_intervals").frame
    return analysis.intervals.steady_window(phases, intervals)


REPORTED = "measured by the workload itself"
_MARKS = "the workload's own marks, host clock"
_GPU = "GPU times, from the trace"
# By table and clock, else by table, else by clock.
_SOURCES = {
    ("gpu_counters", "gpu"): "counters of the GPU, samples in the target's work",
    ("gpu_intervals", "gpu"): _GPU,
    ("gpu_states", "gpu"): _GPU,
    ("phases", "gpu"): "the program's own signposts, on the trace's clock",
    ("steps", ""): _MARKS,
    ("phases", ""): _MARKS,
    ("specializations", ""): _MARKS,
    ("spans", ""): _MARKS,
    ("results", ""): _MARKS,
    ("requests", ""): _MARKS,
    ("request_tokens", ""): _MARKS,
    ("gauges", ""): "read now and then by a monitor or the workload, host clock",
    ("memory_profile", ""): "noted by the workload's process itself between its phases",
    (DISPATCHES, ""): "read from the capture's own bytes",
    (REPLAY, ""): "a serialized replay at a fixed clock, as Xcode exported it",
    ("process_samples", ""): "samples by the operating system, host clock",
    ("step_models", ""): "the workload's own description of a step, not a measurement",
    ("", "gpu"): "CPU times, on the trace's clock",
    ("", "host"): "work on the CPU, host clock; no GPU was measured",
}


def of_table(tables: Tables, name: str) -> str:
    """Return the source of a table's times, in words that do not pretend.

    A table that the analysis derives has the source of the first table that it asks for.
    """
    while name in analysis.DERIVED:
        name = analysis.asked_tables(analysis.DERIVED[name])[0]
    table_rows = rows(tables, name)
    if table_rows.absence:
        return table_rows.absence
    if name in analysis.profile.PROFILES and table_rows.clock == "gpu":
        return "samples of Instruments, on the trace's clock"
    for key in ((name, table_rows.clock), (name, ""), ("", table_rows.clock)):
        if key in _SOURCES:
            return _SOURCES[key]
    return "clock not stated"


def of_metric(tables: Tables, name: str) -> str:
    """Return the source of a metric: that of the first table that it asks for."""
    metric = analysis.METRICS.get(name)
    if metric is None:
        return "source not stated"
    return of_table(tables, analysis.asked_tables(metric.measure)[0])


def meaning(name: str) -> str:
    """Return the meaning of a metric, in its own words; empty for one that this version lacks."""
    metric = analysis.METRICS.get(name)
    if metric is None:
        return ""
    first_paragraph = metric.meaning.split("\n\n")[0]
    return " ".join(first_paragraph.replace("`", "").split())
