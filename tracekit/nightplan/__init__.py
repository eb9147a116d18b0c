"""The plan of a night, from `tracekit.toml` or `[tool.tracekit.nightly]` of `pyproject.toml`."""

from tracekit.nightplan.estimate import Estimate, Timed, estimate
from tracekit.nightplan.plan import Capture, Gated, NightPlan, Reference, ReferenceKind, Scale
from tracekit.nightplan.reading import read_plan
from tracekit.nightplan.remarks import remarks
from tracekit.nightplan.starter import write_starter

__all__ = [
    "Capture",
    "Estimate",
    "Gated",
    "NightPlan",
    "Reference",
    "ReferenceKind",
    "Scale",
    "Timed",
    "estimate",
    "read_plan",
    "remarks",
    "write_starter",
]
