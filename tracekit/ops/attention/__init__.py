"""Paged attention for users: the op, its reference, its traffic model."""

from tracekit.ops.attention.append import append, append_run
from tracekit.ops.attention.dense import Layout, gathered, padding_mask, sdpa
from tracekit.ops.attention.dense_problem import (
    DenseProblem,
    dense_problem,
    draw_dense,
    largest_dense_error,
)
from tracekit.ops.attention.dense_traffic import (
    DenseShape,
    dense_traffic,
    gathered_traffic,
    naive_traffic,
)
from tracekit.ops.attention.lengths import context_lengths
from tracekit.ops.attention.metal import paged_decode, specializations
from tracekit.ops.attention.naive import causal_mask, naive_attention
from tracekit.ops.attention.paged import attend, paged_attention
from tracekit.ops.attention.plan import Kernel, Plan, plan
from tracekit.ops.attention.pool import draw_lengths, draw_problem
from tracekit.ops.attention.prewarm import prewarm
from tracekit.ops.attention.problem import Problem, check_heads
from tracekit.ops.attention.reference import largest_error, reference
from tracekit.ops.attention.traffic import traffic

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
