"""The readers of exports as XML: exact, streaming, hardened."""

from tracekit.tables.xml.details import DetailReader, detail_name, holds_details
from tracekit.tables.xml.fast import FastReader, IrregularError
from tracekit.tables.xml.node import ColumnCells, ExportColumn, Header, Node, Reader
from tracekit.tables.xml.reader import ExactReader, read_nodes
from tracekit.tables.xml.symbols import FRAMES, STACK_TYPES, STACKS, Symbols, no_symbols

__all__ = [
    "FRAMES",
    "STACKS",
    "STACK_TYPES",
    "ColumnCells",
    "DetailReader",
    "ExactReader",
    "ExportColumn",
    "FastReader",
    "Header",
    "IrregularError",
    "Node",
    "Reader",
    "Symbols",
    "detail_name",
    "holds_details",
    "no_symbols",
    "read_nodes",
]
