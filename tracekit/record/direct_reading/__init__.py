"""Bundles of this Mac read directly, as far as exports have shown that they are read rightly."""

from tracekit.record.direct_reading.export import Asked, Xml, export
from tracekit.record.direct_reading.remembered import Memory, recall
from tracekit.record.direct_reading.rows import named_directly, rows_of_target

__all__ = ["Asked", "Memory", "Xml", "export", "named_directly", "recall", "rows_of_target"]
