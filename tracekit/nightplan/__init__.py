"""The plan of a night, from `tracekit.toml` or `[tool.tracekit]` of `pyproject.toml`."""

from tracekit.nightplan.plan import Capture, Gated, NightPlan, Reference, ReferenceKind, Scale

__all__ = ["Capture", "Gated", "NightPlan", "Reference", "ReferenceKind", "Scale"]
