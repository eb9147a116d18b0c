"""The Metal kernels of attention: launch, name and compile them."""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

import mlx.core as mx

from tracekit.base import ToolError
from tracekit.ops.attention.planning import (
    BLOCK_SIZES,
    THREADS,
    DecodePlan,
    Kernel,
    plan,
)
from tracekit.ops.attention.problem import DecodeProblem, check_head_dim, draw_problem
from tracekit.ops.kernels import LANES, LEAST_BUFFER, KernelSource, needing_metal, pad_buffer

_ARRAYS = ("q", "k_pages", "v_pages", "block_tables", "context_lens", "max_blocks", "scale")

_SOURCES = {
    "grouped": KernelSource("paged_decode", _ARRAYS, ("out", "sums", "stats")),
    "per-head": KernelSource("paged_decode_per_head", _ARRAYS, ("out",)),
    "barriers": KernelSource("paged_decode_barriers", _ARRAYS, ("out",)),
}
_MERGE = KernelSource("paged_merge", ("sums", "stats", "partitions"), ("out",))


def paged_decode(
    problem: DecodeProblem, *, scale: float, how: DecodePlan | None = None
) -> mx.array:
    """Launch a kernel of `kernels/`, and the one that merges if there are several partitions.

    Without Metal the call can be traced, by `tracekit.lab.msl.emulation`, but running it raises
    ToolError. An unsupported head size raises UsageError.
    """
    check_head_dim(problem.head_dim)
    if how is None:
        how = plan(problem)
    with needing_metal(
        "Choose no kernel: then MLX's own ops attend. "
        "`tracekit kernel verify all` runs the kernels on a CPU."
    ):
        return _launch(problem, scale, how)[0]


def _template(problem: DecodeProblem, how: DecodePlan) -> list[tuple[str, Any]]:
    template: list[tuple[str, Any]] = [
        ("T", problem.dtype),
        ("D", problem.head_dim),
        ("BLOCK", problem.block_size),
    ]
    if how.kernel == "barriers":
        return [*template, ("GROUP", problem.group), ("THREADS", how.threadgroup)]
    simdgroups = how.threadgroup // LANES
    if how.kernel == "per-head":
        return [
            *template,
            ("KV_HEADS", problem.kv_heads),
            ("GROUP", problem.group),
            ("SIMDGROUPS", simdgroups),
        ]
    return [
        *template,
        ("GROUP", problem.group),
        ("HD_TILE", how.hd_tile),
        ("HEADS", how.heads),
        ("TOKENS", how.tokens),
        ("SIMDGROUPS", simdgroups),
    ]


def _launch(problem: DecodeProblem, scale: float, how: DecodePlan) -> tuple[mx.array, set[str]]:
    """Return the result, and the names of the kernels that make it."""
    width = problem.q_heads
    if how.kernel == "grouped":
        width = problem.kv_heads * how.rereads(problem.group)
    tables = pad_buffer(problem.block_tables.reshape(-1))
    lens = pad_buffer(problem.context_lens)
    inputs = (
        problem.q,
        problem.k_pages,
        problem.v_pages,
        tables,
        lens,
        problem.max_blocks,
        float(scale),
    )
    template = _template(problem, how)
    outputs = _outputs(problem, how)
    (output, *partial), name = _SOURCES[how.kernel].launch(
        inputs,
        template,
        (how.threadgroup * width, problem.batch, how.partitions),
        how.threadgroup,
        outputs,
    )
    if how.partitions == 1:
        return output, {name}
    grid = (problem.head_dim * problem.q_heads, problem.batch, 1)
    merge_template = [("T", problem.dtype), ("D", problem.head_dim)]
    (output,), merge = _MERGE.launch(
        (*partial, how.partitions),
        merge_template,
        grid,
        problem.head_dim,
        [(problem.q.shape, problem.dtype)],
    )
    return output, {name, merge}


def _outputs(problem: DecodeProblem, how: DecodePlan) -> list[tuple[Sequence[int], mx.Dtype]]:
    """Return shape and dtype of each output of a kernel.

    The grouped kernel has one text for any number of partitions: an unused output is one element.
    """
    if how.kernel != "grouped":
        return [(problem.q.shape, problem.dtype)]
    if how.partitions == 1:
        return [(problem.q.shape, problem.dtype), ((1,), mx.float32), ((1,), mx.float32)]
    rows = (problem.batch, problem.q_heads, how.partitions)
    sums_shape = (*rows, problem.head_dim)
    stats_shape = (max(LEAST_BUFFER, 2 * prod(rows)),)
    return [((1,), problem.dtype), (sums_shape, mx.float32), (stats_shape, mx.float32)]


def prewarm(
    *,
    q_heads: int,
    kv_heads: int,
    head_dim: int,
    dtype: mx.Dtype,
    block_sizes: Iterable[int] = BLOCK_SIZES,
    hd_tiles: Iterable[int | None] = (None,),
    kernel: Kernel | None = None,
    threadgroup: int | None = None,
) -> frozenset[str]:
    """Run every specialization of one model once, on one token; return their names in Metal.

    A specialization is a pair of block size and HD_TILE, for the model's dtype, head size and
    heads; batch, lengths and number of partitions make none, and the size of a threadgroup makes
    one of its own. After this, decoding with such block sizes, tiles (None is the tile of `plan`)
    and threads compiles nothing. Without `threadgroup` all sizes that `plan` chooses are compiled.
    The names include that of the merge; there are none if MLX has no Metal.
    """
    names: set[str] = set()
    sizes: Sequence[int | None] = [threadgroup]
    if threadgroup is None and kernel in {None, "grouped"}:
        sizes = THREADS
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
        for how in _prewarmed_plans(problem, hd_tiles, kernel, sizes):
            try:
                with needing_metal(""):
                    output, launched = _launch(problem, 1.0, how)
                    mx.eval(output)
            except ToolError:
                return frozenset()
            names |= launched
    return frozenset(names)


def _prewarmed_plans(
    problem: DecodeProblem,
    hd_tiles: Iterable[int | None],
    kernel: Kernel | None,
    sizes: Sequence[int | None],
) -> Iterator[DecodePlan]:
    """Yield a launch for each specialization; those of the grouped kernel also run the merge."""
    if kernel not in {None, "grouped"}:
        for threads in sizes:
            yield plan(problem, kernel=kernel, threadgroup=threads)
        return
    for tile in hd_tiles:
        for threads in sizes:
            yield plan(problem, hd_tile=tile, threadgroup=threads, partitions=2)
