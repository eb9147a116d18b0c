"""The plan of a night, from `tracekit.toml` or `[tool.tracekit.nightly]` of `pyproject.toml`."""

from tracekit.nightplan.plan import Capture, Gated, NightPlan, Reference, ReferenceKind, Scale
from tracekit.nightplan.reading import read_plan

__all__ = [
    "Capture",
    "Gated",
    "NightPlan",
    "Reference",
    "ReferenceKind",
    "Scale",
    "read_plan",
]
