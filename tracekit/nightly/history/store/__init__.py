"""Nights in a database: append-only, SQLite or PostgreSQL."""

from tracekit.nightly.history.store.acceptance import Refused
from tracekit.nightly.history.store.asking import Value
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.history.store.document import cut_short
from tracekit.nightly.history.store.store import Store

__all__ = ["Missed", "Refused", "Store", "Value", "cut_short"]
