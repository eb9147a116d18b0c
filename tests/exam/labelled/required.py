"""What a trace must have for a fault to be seen in it."""

from collections.abc import Mapping

NEED_MARKS = {"roofline-distance", "cache-resident", "serial-prefill", "uneven-work"}
"""Rules that can see nothing where the program does not mark its steps."""
_SUBMITTED = "metal-application-command-buffer-submissions"
_COMPLETED = "metal-command-buffer-completed"
NEEDED: Mapping[str, frozenset[str]] = {
    "shallow-queue": frozenset({_SUBMITTED, _COMPLETED}),
    "frequent-readback": frozenset({_SUBMITTED, _COMPLETED}),
    "pipeline-churn": frozenset({"graphics-compiler-activity-intervals"}),
    "gpu-downclocked": frozenset({"gpu-performance-state-intervals"}),
    "thermal-pressure": frozenset({"device-thermal-state-intervals"}),
    "memory-growth": frozenset({"metal-current-allocated-size"}),
    "hot-allocations": frozenset({"metal-resource-allocations"}),
    "lost-residency": frozenset({"metal-driver-event-intervals"}),
    "left-out-time": frozenset({_SUBMITTED, _COMPLETED}),
}
"""Schemas without which a rule cannot see its fault."""
