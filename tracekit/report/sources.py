"""Where a number comes from: which table, and whose clock; said beside each number."""

import inspect

from tracekit.analysis.given import DERIVED
from tracekit.analysis.inject import asked_tables
from tracekit.analysis.metrics import METRICS
from tracekit.report.panel import Tables
from tracekit.report.rows import rows

TOLD = "measured by the workload itself"
_MARKS = "the workload's own marks, host clock"
_LEVELS = "read now and then by a monitor or the workload, host clock"
_NOTES = "noted by the workload's process itself between its phases"
_MODEL = "what the workload says a step does, no measurement"
_SIGNPOSTS = "the program's own signposts, on the trace's clock"
_SAMPLES = "samples by the operating system, host clock"
_GPU = "GPU times, from the trace"
_COUNTERS = "counters of the GPU, samples in the target's work"
_TRACE = "CPU times, on the trace's clock"
_CPU = "work on the CPU, host clock; no GPU was measured"

_OF_TABLE = {
    "steps": _MARKS,
    "phases": _MARKS,
    "specializations": _MARKS,
    "spans": _MARKS,
    "gauges": _LEVELS,
    "requests": _MARKS,
    "request_tokens": _MARKS,
    "results": _MARKS,
    "memory_profile": _NOTES,
    "process_samples": _SAMPLES,
    "step_models": _MODEL,
}
_OF_CLOCK = {"gpu": _TRACE, "host": _CPU}
_ON_DEVICE = {"gpu_intervals", "gpu_states"}
_COUNTED = {"gpu_counters"}


def of_table(tables: Tables, name: str) -> str:
    """Return where the times of a table come from, in words that do not pretend.

    A table that the analysis makes itself comes from where the first one comes that it asks for.
    """
    while name in DERIVED:
        name = asked_tables(DERIVED[name])[0]
    found = rows(tables, name)
    if found.absence:
        return found.absence
    if found.clock == "gpu" and name in _COUNTED:
        return _COUNTERS
    if found.clock == "gpu" and name in _ON_DEVICE:
        return _GPU
    if found.clock == "gpu" and name == "phases":
        return _SIGNPOSTS
    return _OF_TABLE.get(name) or _OF_CLOCK.get(found.clock, "clock not stated")


def of_metric(tables: Tables, name: str) -> str:
    """Return where a metric comes from: by the first table that it asks for."""
    known = METRICS.get(name)
    if known is None:
        return "source not stated"
    return of_table(tables, next(iter(inspect.signature(known.measure).parameters)))


def meaning(name: str) -> str:
    """Return what a metric is, in its own words; empty for one that this version lacks."""
    known = METRICS.get(name)
    first = known.meaning.split("\n\n")[0] if known else ""
    return " ".join(first.replace("`", "").split())
