"""Compile the kernels of a model before its hot path needs them."""

from collections.abc import Iterable

import mlx.core as mx

from tracekit.base.errors import ToolError
from tracekit.ops.attention.metal import paged_decode, specialization_names
from tracekit.ops.attention.plan import HD_TILES, Kernel, plan
from tracekit.ops.attention.pool import draw_problem

BLOCK_SIZES = (16, 32, 64)


def prewarm(
    *,
    q_heads: int,
    kv_heads: int,
    head_dim: int,
    dtype: mx.Dtype,
    block_sizes: Iterable[int] = BLOCK_SIZES,
    hd_tiles: Iterable[int] = HD_TILES,
    kernel: Kernel | None = None,
    threadgroup: int | None = None,
) -> frozenset[str]:
    """Run every specialization of one model once, on one token.

    A specialization is a pair of block size and HD_TILE, for the model's dtype, head size and
    heads; batch, lengths and number of partitions make none. After this, decoding with such
    block sizes and tiles compiles nothing.

    Returns:
        Their names, as Metal knows them, those of the merge included; none where MLX has no
        Metal.

    Raises:
        UsageError: There is no such kernel.
    """
    names: set[str] = set()
    tiles = list(hd_tiles) if kernel in {None, "grouped"} else [None]
    for block_size in block_sizes:
        problem = draw_problem(
            [1],
            q_heads=q_heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            block_size=block_size,
            max_blocks=1,
            dtype=dtype,
        )
        for tile in tiles:
            parts = 1 if tile is None else 2  # two also run the merge
            how = plan(
                problem, kernel=kernel, hd_tile=tile, threadgroup=threadgroup, partitions=parts
            )
            try:
                mx.eval(paged_decode(problem, scale=1.0, how=how))
            except ToolError:
                return frozenset()
            names.update(specialization_names(problem, how))
    return frozenset(names)
