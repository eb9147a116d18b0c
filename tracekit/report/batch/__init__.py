"""Many recordings on one page."""

from tracekit.report.batch.entry import COLUMNS, Entry, Finding
from tracekit.report.batch.page import render_batch

__all__ = ["COLUMNS", "Entry", "Finding", "render_batch"]
