"""A bundle's tables as XML in the grammar of `xctrace export`, written on any system."""

from tracekit.tables.bundle_xml.meanings import Meanings, UnwritableError
from tracekit.tables.bundle_xml.table import inferred, write_table
from tracekit.tables.bundle_xml.whole import Exported, write_exports

__all__ = [
    "Exported",
    "Meanings",
    "UnwritableError",
    "inferred",
    "write_exports",
    "write_table",
]
