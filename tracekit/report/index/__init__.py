"""All runs of a folder on one page."""

from tracekit.report.index.entry import Entry, Unread, entries_of
from tracekit.report.index.page import render_index

__all__ = ["Entry", "Unread", "entries_of", "render_index"]
