"""Benches: named implementations on one shape, measured in turns, with all that was measured."""

from tracekit.bench.document import Bench, Comparison, Row, Timing
from tracekit.bench.run import Settings, run_bench
from tracekit.bench.save import check_writable, document, save, save_tuning, tuning_document
from tracekit.bench.shape import Shape
from tracekit.bench.statistics import Summary, summarize
from tracekit.bench.subject import Prepared, Subject, Unavailable
from tracekit.bench.subjects import SUBJECTS, SUITES, chosen
from tracekit.bench.tune import Tuning, tune

__all__ = [
    "SUBJECTS",
    "SUITES",
    "Bench",
    "Comparison",
    "Prepared",
    "Row",
    "Settings",
    "Shape",
    "Subject",
    "Summary",
    "Timing",
    "Tuning",
    "Unavailable",
    "check_writable",
    "chosen",
    "document",
    "run_bench",
    "save",
    "save_tuning",
    "summarize",
    "tune",
    "tuning_document",
]
