"""The reader of exports as XML: exact, streaming, hardened."""

from tracekit.tables.xml.node import ColumnTexts, ExportColumn, Node
from tracekit.tables.xml.reader import read_nodes

__all__ = ["ColumnTexts", "ExportColumn", "Node", "read_nodes"]
