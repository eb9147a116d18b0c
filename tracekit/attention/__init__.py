"""Paged attention for users: the op, its reference, its traffic model."""

from tracekit.attention.append import append, append_run
from tracekit.attention.dense import Layout, gathered, padding_mask, sdpa
from tracekit.attention.metal import specializations
from tracekit.attention.naive import causal_mask, naive_attention
from tracekit.attention.paged import attend, backend, paged_attention
from tracekit.attention.pool import draw_lengths, draw_problem
from tracekit.attention.problem import Problem, check_heads
from tracekit.attention.reference import as_float64, largest_error, reference
from tracekit.attention.traffic import Traffic, traffic

__all__ = [
    "Layout",
    "Problem",
    "Traffic",
    "append",
    "append_run",
    "as_float64",
    "attend",
    "backend",
    "causal_mask",
    "check_heads",
    "draw_lengths",
    "draw_problem",
    "gathered",
    "largest_error",
    "naive_attention",
    "padding_mask",
    "paged_attention",
    "reference",
    "sdpa",
    "specializations",
    "traffic",
]
