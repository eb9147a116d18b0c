"""Why the device of the target had nothing to do: the idle time, cut into pieces by cause."""

from tracekit.analysis.idle.advice import advice
from tracekit.analysis.idle.cause import CAUSES, Cause, Drained
from tracekit.analysis.idle.gaps import SHORTEST, gaps_table, loaded_table
from tracekit.analysis.idle.known import causes_table, unsure, why_unknown
from tracekit.analysis.idle.shares import (
    by_cause,
    drained_time,
    idle_time,
    loaded_time,
    longest_gaps,
    most_told,
)

__all__ = [
    "CAUSES",
    "SHORTEST",
    "Cause",
    "Drained",
    "advice",
    "by_cause",
    "causes_table",
    "drained_time",
    "gaps_table",
    "idle_time",
    "loaded_table",
    "loaded_time",
    "longest_gaps",
    "most_told",
    "unsure",
    "why_unknown",
]
