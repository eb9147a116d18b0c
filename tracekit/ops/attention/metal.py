"""The Metal kernels: how they are built, launched, named, and compiled before their use."""

from collections.abc import Iterable
from math import prod
from typing import Any

import mlx.core as mx

from tracekit.base import ToolError
from tracekit.ops.attention.plan import HD_TILES, Kernel, Plan, plan
from tracekit.ops.attention.problem import Problem, check_head_dim, draw_problem
from tracekit.ops.kernels import LANES, LEAST_BUFFER, METAL_TYPES, Source, needing_metal, padded

_ARRAYS = ("q", "k_pages", "v_pages", "block_tables", "context_lens", "max_blocks", "scale")

_made: set[str] = set()

_SOURCES = {
    "grouped": Source("paged_decode", _ARRAYS, ("out", "sums", "stats")),
    "per-head": Source("paged_decode_per_head", _ARRAYS, ("out",)),
    "barriers": Source("paged_decode_barriers", _ARRAYS, ("out",)),
}
_MERGE = Source("paged_merge", ("sums", "stats", "partitions"), ("out",))


def specializations() -> frozenset[str]:
    """Return the names of the kernels that this process has launched, as Metal knows them."""
    return frozenset(_made)


def paged_decode(problem: Problem, *, scale: float, how: Plan | None = None) -> mx.array:
    """Launch a kernel of `kernels/`, and the one that merges if there are several partitions.

    Without Metal this can be traced, by `tracekit.lab.msl.emulation`, not run.

    Raises:
        UsageError: The kernels have no such head size.
        ToolError: MLX has no Metal here.
    """
    check_head_dim(problem.head_dim)
    how = plan(problem) if how is None else how
    with needing_metal(
        "Choose no kernel: then MLX's own ops attend. "
        "`tracekit verify-kernel all` runs the kernels on a CPU."
    ):
        out = _launch(problem, scale, how)
    _made.update(specialization_names(problem, how))
    return out


def specialization_names(problem: Problem, how: Plan) -> tuple[str, ...]:
    """Return the names of the kernels of a call; see `tracekit.ops.kernels.Source.name`."""
    t = METAL_TYPES[problem.dtype]
    inputs = [t, t, t, "int32_t", "int32_t", "int32_ts", "floats"]
    outputs = [t, "float", "float"] if how.kernel == "grouped" else [t]
    decode = _SOURCES[how.kernel].name(_template(problem, how), [*inputs, *outputs])
    if how.partitions == 1:
        return (decode,)
    merge = [("T", problem.dtype), ("D", problem.head_dim)]
    return decode, _MERGE.name(merge, ["float", "float", "int32_ts", t])


def _template(problem: Problem, how: Plan) -> list[tuple[str, Any]]:
    shape = [("T", problem.dtype), ("D", problem.head_dim), ("BLOCK", problem.block_size)]
    if how.kernel == "barriers":
        return [*shape, ("GROUP", problem.group), ("THREADS", how.threadgroup)]
    simdgroups = ("SIMDGROUPS", how.threadgroup // LANES)
    if how.kernel == "per-head":
        return [*shape, ("KV_HEADS", problem.kv_heads), ("GROUP", problem.group), simdgroups]
    sizes = [("HD_TILE", how.hd_tile), ("HEADS", how.heads), ("TOKENS", how.tokens)]
    return [*shape, ("GROUP", problem.group), *sizes, simdgroups, ("AHEAD", int(how.ahead))]


def _launch(problem: Problem, scale: float, how: Plan) -> mx.array:
    split = how.partitions > 1
    rows = (problem.batch, problem.q_heads, how.partitions)
    width = problem.q_heads
    shapes: list[tuple[int, ...]] = [problem.q.shape]
    if how.kernel == "grouped":
        # What the number of partitions leaves unused is one element, so that there is one kernel.
        width = problem.kv_heads * how.rereads(problem.group)
        stats = (max(LEAST_BUFFER, 2 * prod(rows)),)
        shapes = [(1,), (*rows, problem.head_dim), stats] if split else [*shapes, (1,), (1,)]
    tables = padded(problem.block_tables.reshape(-1))
    pages = [problem.k_pages, problem.v_pages]
    out, *partial = _SOURCES[how.kernel].kernel()(
        inputs=[
            *(problem.q, *pages, tables, padded(problem.context_lens)),
            *(problem.max_blocks, scale),
        ],
        template=_template(problem, how),
        grid=(how.threadgroup * width, problem.batch, how.partitions),
        threadgroup=(how.threadgroup, 1, 1),
        output_shapes=shapes,
        output_dtypes=[problem.dtype, mx.float32, mx.float32][: len(shapes)],
    )
    if not split:
        return out
    (out,) = _MERGE.kernel()(
        inputs=[*partial, how.partitions],
        template=[("T", problem.dtype), ("D", problem.head_dim)],
        grid=(problem.head_dim * problem.q_heads, problem.batch, 1),
        threadgroup=(problem.head_dim, 1, 1),
        output_shapes=[problem.q.shape],
        output_dtypes=[problem.dtype],
    )
    return out


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
