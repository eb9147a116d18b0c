"""Pools of pages drawn at random, for benches and tests."""

import math
from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from tracekit.ops.attention.problem import Problem
from tracekit.ops.custom_kernel import LEAST_BUFFER
from tracekit.ops.memory import require_memory

_HINT = "Take shorter or fewer sequences, or fewer heads."


def draw_lengths(batch: int, longest: int, *, seed: int) -> list[int]:
    """Draw `batch` context lengths, each from 1 to `longest`, all equally likely."""
    return np.random.default_rng([seed, 1]).integers(1, longest, batch, endpoint=True).tolist()


def draw_problem(
    lens: Sequence[int],
    *,
    q_heads: int,
    kv_heads: int,
    head_dim: int,
    block_size: int,
    max_blocks: int,
    dtype: mx.Dtype,
    seed: int = 0,
) -> Problem:
    """Draw queries and a pool of `len(lens) * max_blocks` pages, and fill the device with them.

    Every sequence has `max_blocks` pages of its own, in shuffled order. Contents are normal;
    the lengths are padded to 8 entries, so that every batch runs one and the same kernel.

    Raises:
        UsageError: The pool is larger than this machine's memory.
    """
    batch = len(lens)
    pool = (batch * max_blocks, block_size, kv_heads, head_dim)
    check_memory(2 * math.prod(pool) * dtype.size, "The pool")
    tables = np.random.default_rng([seed, 0]).permutation(pool[0]).reshape(batch, max_blocks)
    padding = (0, max(0, LEAST_BUFFER - batch))
    keys = mx.random.split(mx.random.key(seed), 3)
    problem = Problem(
        mx.random.normal((batch, q_heads, head_dim), dtype=dtype, key=keys[0]),
        mx.random.normal(pool, dtype=dtype, key=keys[1]),
        mx.random.normal(pool, dtype=dtype, key=keys[2]),
        mx.array(tables.astype(np.int32)),
        mx.array(np.pad(np.asarray(lens, np.int32), padding)),
    )
    mx.eval(problem.q, problem.k_pages, problem.v_pages)
    mx.eval(problem.block_tables, problem.context_lens)
    return problem


def check_memory(needed: int, what: str) -> None:
    """Raise UsageError if `what` needs more bytes than this machine has."""
    require_memory(needed, what, _HINT)
