"""A history as other programs read it."""

from tracekit.nightly.history.exports.bencher import bencher
from tracekit.nightly.history.exports.flat import FlatFormat, point_rows, write_points, write_values
from tracekit.nightly.history.exports.github import benchmarks
from tracekit.nightly.history.exports.otava import Otava, otava

__all__ = [
    "FlatFormat",
    "Otava",
    "bencher",
    "benchmarks",
    "otava",
    "point_rows",
    "write_points",
    "write_values",
]
