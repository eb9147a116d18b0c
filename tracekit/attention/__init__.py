"""Paged attention for users: the op, its reference, its traffic model."""

from tracekit.attention.metal import specializations
from tracekit.attention.paged import attend, backend, paged_attention
from tracekit.attention.pool import draw_lengths, draw_problem
from tracekit.attention.problem import Problem, check_heads
from tracekit.attention.reference import as_float64, largest_error, reference
from tracekit.attention.traffic import Traffic, traffic

__all__ = [
    "Problem",
    "Traffic",
    "as_float64",
    "attend",
    "backend",
    "check_heads",
    "draw_lengths",
    "draw_problem",
    "largest_error",
    "paged_attention",
    "reference",
    "specializations",
    "traffic",
]
