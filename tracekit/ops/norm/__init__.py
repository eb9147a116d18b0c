"""RMSNorm and the linear layer after it: fused, separate, their reference and traffic."""

from tracekit.ops.norm.metal import fused_kernel, kernel_traffic, specializations
from tracekit.ops.norm.ops import compiled, separate
from tracekit.ops.norm.problem import Problem, draw_problem
from tracekit.ops.norm.reference import error_of, reference
from tracekit.ops.norm.traffic import fused_traffic, separate_traffic

__all__ = [
    "Problem",
    "compiled",
    "draw_problem",
    "error_of",
    "fused_kernel",
    "fused_traffic",
    "kernel_traffic",
    "reference",
    "separate",
    "separate_traffic",
    "specializations",
]
