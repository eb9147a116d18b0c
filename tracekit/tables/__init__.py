"""Exports in, dataframes with declared columns out."""

from tracekit.tables.drift import DamagedExportWarning, DriftWarning
from tracekit.tables.flat import read_table
from tracekit.tables.tables import MissingTableError, Tables
from tracekit.tables.write import write_table

__all__ = [
    "DamagedExportWarning",
    "DriftWarning",
    "MissingTableError",
    "Tables",
    "read_table",
    "write_table",
]
