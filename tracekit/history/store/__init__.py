"""Nights in a database: append-only, SQLite or PostgreSQL."""

from tracekit.history.store.acceptance import Refused
from tracekit.history.store.asking import Value
from tracekit.history.store.decisions import Missed
from tracekit.history.store.document import cut_short
from tracekit.history.store.store import Store

__all__ = ["Missed", "Refused", "Store", "Value", "cut_short"]
