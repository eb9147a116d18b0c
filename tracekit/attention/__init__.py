"""Paged attention for users: the op, its reference, its traffic model."""

from tracekit.attention.append import append, append_run
from tracekit.attention.dense import Layout, gathered, padding_mask, sdpa
from tracekit.attention.dense_problem import (
    DenseProblem,
    dense_problem,
    draw_dense,
    largest_dense_error,
)
from tracekit.attention.dense_traffic import (
    DenseShape,
    dense_traffic,
    gathered_traffic,
    naive_traffic,
)
from tracekit.attention.lengths import context_lengths
from tracekit.attention.metal import paged_decode, specializations
from tracekit.attention.naive import causal_mask, naive_attention
from tracekit.attention.paged import attend, paged_attention
from tracekit.attention.plan import Kernel, Plan, plan
from tracekit.attention.pool import draw_lengths, draw_problem
from tracekit.attention.prewarm import prewarm
from tracekit.attention.problem import Problem, check_heads
from tracekit.attention.reference import largest_error, reference
from tracekit.attention.traffic import traffic

__all__ = [
    "DenseProblem",
    "DenseShape",
    "Kernel",
    "Layout",
    "Plan",
    "Problem",
    "append",
    "append_run",
    "attend",
    "causal_mask",
    "check_heads",
    "context_lengths",
    "dense_problem",
    "dense_traffic",
    "draw_dense",
    "draw_lengths",
    "draw_problem",
    "gathered",
    "gathered_traffic",
    "largest_dense_error",
    "largest_error",
    "naive_attention",
    "naive_traffic",
    "padding_mask",
    "paged_attention",
    "paged_decode",
    "plan",
    "prewarm",
    "reference",
    "sdpa",
    "specializations",
    "traffic",
]
