"""The readers of exports as XML: exact, streaming, hardened."""

from tracekit.tables.xml.node import ColumnCells, ExportColumn, Header, Node, Reader
from tracekit.tables.xml.reader import read_nodes
from tracekit.tables.xml.symbols import FRAMES, STACK_TYPES, STACKS, Symbols, no_symbols

__all__ = [
    "FRAMES",
    "STACKS",
    "STACK_TYPES",
    "ColumnCells",
    "ExportColumn",
    "Header",
    "Node",
    "Reader",
    "Symbols",
    "no_symbols",
    "read_nodes",
]
