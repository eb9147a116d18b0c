"""The plan of a night, from `tracekit.toml` or `[tool.tracekit.nightly]` of `pyproject.toml`."""

from tracekit.nightly.plan.estimate import Estimate, Timed, estimate
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference, ReferenceKind
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.plan.remarks import remarks
from tracekit.nightly.plan.starter import write_starter

__all__ = [
    "Capture",
    "Estimate",
    "Gated",
    "NightPlan",
    "Reference",
    "ReferenceKind",
    "Timed",
    "estimate",
    "read_plan",
    "remarks",
    "write_starter",
]
