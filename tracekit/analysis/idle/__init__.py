"""Why the device of the target had nothing to do: the idle time, cut into pieces by cause."""

from tracekit.analysis.idle.cause import CAUSES, Cause, Drained
from tracekit.analysis.idle.gaps import SHORTEST, gaps_table, loaded_table
from tracekit.analysis.idle.shares import by_cause, idle_time, loaded_time

__all__ = [
    "CAUSES",
    "SHORTEST",
    "Cause",
    "Drained",
    "by_cause",
    "gaps_table",
    "idle_time",
    "loaded_table",
    "loaded_time",
]
