"""All runs of a folder on one page."""

from tracekit.fleet.index.entry import Entry, Unread, entries_of
from tracekit.fleet.index.page import render_index

__all__ = ["Entry", "Unread", "entries_of", "render_index"]
