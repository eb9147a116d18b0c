"""Decode calls that are small enough to be computed by hand."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from tracekit.ops.attention.problem import DecodeProblem, draw_problem

_SMALL = {"q_heads": 2, "kv_heads": 1, "head_dim": 8, "block_size": 4, "max_blocks": 1}


def small_problem(lens: Sequence[int], **changes: Any) -> DecodeProblem:
    """Draw a problem: float32, 2 query heads of 8 elements that share one of K and V."""
    return draw_problem(lens, **{"dtype": mx.float32, **_SMALL, **changes})
