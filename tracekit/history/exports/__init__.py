"""A history as other programs read it."""

from tracekit.history.exports.bencher import bencher
from tracekit.history.exports.flat import FlatFormat, point_rows, write_points, write_values
from tracekit.history.exports.github import benchmarks
from tracekit.history.exports.otava import Otava, otava

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
