"""Checks of the kernels that decode: ragged contexts over pages that hold traps."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from tracekit.base import BOUNDS
from tracekit.lab.verification.check import Check
from tracekit.ops import (
    Kernel,
    Problem,
    draw_problem,
    nan_past_ends,
    paged_decode,
    plan,
    reference_of,
)
from tracekit.workload import DtypeName

NO_PAGE = 10**6


def ragged(block_size: int) -> list[int]:
    """Return context lengths with an edge each: none, one token, around a page, a full table."""
    return [0, 1, block_size - 1, block_size, block_size + 1, 3 * block_size, 4 * block_size]


def trapped(problem: Problem) -> Problem:
    """Return the problem with NaN in unused rows, and pages that do not exist in unused entries.

    Whoever reads beyond a sequence's length gets NaN, or is out of bounds.
    """
    tables, lens = np.array(problem.block_tables), np.array(problem.context_lens)[: problem.batch]
    for row, length in zip(tables, lens, strict=True):
        row[-(-int(length) // problem.block_size) :] = NO_PAGE
    return replace(nan_past_ends(problem), block_tables=mx.array(tables))


def decode_check(
    kernel: Kernel,
    *,
    dtype: DtypeName,
    head_dim: int,
    block_size: int,
    kv_heads: int,
    group: int,
    hd_tile: int | None = None,
    partitions: int | None = None,
    threadgroup: int | None = None,
) -> Check:
    """Return the check of one specialization of one of the kernels that decode.

    Rows of K and V must be loaded exactly as often as the traffic model says.
    """
    lens = ragged(block_size)
    problem = trapped(
        draw_problem(
            lens,
            q_heads=kv_heads * group,
            kv_heads=kv_heads,
            head_dim=head_dim,
            block_size=block_size,
            max_blocks=4,
            dtype=getattr(mx, dtype),
        )
    )
    how = plan(
        problem, kernel=kernel, hd_tile=hd_tile, partitions=partitions, threadgroup=threadgroup
    )
    scale = head_dim**-0.5
    rows = sum(lens) * kv_heads * head_dim * problem.dtype.size * how.rereads(group)
    return Check(
        run=lambda: paged_decode(problem, scale=scale, how=how),
        expected=reference_of(problem, scale=scale),
        bound=BOUNDS[dtype],
        loaded={"k_pages": rows, "v_pages": rows},
    )
