"""Benches: named implementations on one shape, measured in turns, with all that was measured."""

from tracekit.lab.bench.document import Bench, Comparison, Row, Timing
from tracekit.lab.bench.run import Settings, run_bench
from tracekit.lab.bench.save import check_writable, document, save, save_tuning, tuning_document
from tracekit.lab.bench.shape import Shape
from tracekit.lab.bench.statistics import Summary, summarize
from tracekit.lab.bench.subject import Prepared, Subject, Unavailable
from tracekit.lab.bench.subjects import SUBJECTS, SUITES, chosen
from tracekit.lab.bench.tune import Tuning, tune

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
