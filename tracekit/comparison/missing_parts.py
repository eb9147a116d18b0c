"""Recordings of which a part may be missing, and the metrics that do not depend on that part."""

from collections.abc import Sequence
from dataclasses import replace

from tracekit import analysis, tables
from tracekit.comparison.samples import Sample
from tracekit.comparison.verdicts import Change, Verdict


def withhold_verdict(change: Change, samples: Sequence[Sample]) -> Change:
    """Return the change as unclear if one of the runs may lack data of its metric.

    A recording that somebody stopped early has everything up to its end. If a trace was recovered,
    or its export did not end, the times that the workload itself noted are complete, and a metric
    of them alone is judged.
    """
    if change.verdict is None:
        return change
    for sample in samples:
        reason = _find_gap(change.metric, sample)
        if reason:
            return replace(change, verdict=Verdict.UNCLEAR, reason=reason)
    return change


def _find_gap(metric: str, sample: Sample) -> str:
    """Return why a run may lack data of a metric, in words; empty if it has all of them."""
    for name, stage in sample.result.provenance.incomplete.items():
        if name == "recover" and not _is_noted_by_workload(metric):
            return f"{sample.name} was recovered, incomplete"
        if name == "record" and stage.state != "interrupted":
            return f"the recording of {sample.name} did not end well"
        if name in {"import", "export"} and not _is_noted_by_workload(metric):
            return f"the {name} of {sample.name} did not end well"
    return ""


def _is_noted_by_workload(metric: str) -> bool:
    """Return whether a metric is made only of tables that the workload writes, and no recorder."""
    if metric not in analysis.METRICS:
        return True  # a result that the workload reports itself
    table_names = analysis.recorded_tables(analysis.METRICS[metric].measure)
    return all(map(_is_of_workload, table_names))


def _is_of_workload(table: str) -> bool:
    """Return whether a table comes from the host alone, never from a trace."""
    clocks = {source.clock for source in tables.SCHEMAS[table].sources}
    return clocks == {"host"}
