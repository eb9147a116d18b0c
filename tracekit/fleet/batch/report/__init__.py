"""Many recordings on one page."""

from tracekit.fleet.batch.report.entry import COLUMNS, Entry, Finding
from tracekit.fleet.batch.report.page import render_batch

__all__ = ["COLUMNS", "Entry", "Finding", "render_batch"]
