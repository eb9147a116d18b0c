"""Runs for other programs: Perfetto, Chrome's tracing, speedscope, and whatever reads tables."""

from tracekit.interop.convert import FORMATS, Format, Written, convert_run

__all__ = ["FORMATS", "Format", "Written", "convert_run"]
