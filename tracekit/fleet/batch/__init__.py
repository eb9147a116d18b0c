"""Many recordings at once: in parallel, into one data set, whatever some of them are like."""

from tracekit.fleet.batch.analysing import Choices
from tracekit.fleet.batch.batch import Outcome, Plan, run_batch
from tracekit.fleet.batch.tables import wanted_tables

__all__ = ["Choices", "Outcome", "Plan", "run_batch", "wanted_tables"]
