"""The Metal kernels: divide a call among threadgroups, launch, name and compile the kernels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import mlx.core as mx

from tracekit import workload
from tracekit.base import ToolError, UsageError
from tracekit.ops.attention.problem import DecodeProblem, check_head_dim, draw_problem
from tracekit.ops.kernels import LANES, LEAST_BUFFER, KernelSource, needing_metal, pad_buffer

Kernel = Literal["grouped", "per-head", "barriers"]

HD_TILES = (8, 16)
HELD_ELEMENTS = 64
"""Elements of queries that a lane of the grouped kernel holds at most, over all its q heads.

It holds as many sums; more would not stay in registers.
"""
LOADED_BYTES = 128
"""Bytes of K and V that a lane of the grouped kernel loads at a time."""
ENOUGH_THREADGROUPS = 256
"""Number of threadgroups from which the tokens of a sequence are not divided further."""
SHORTEST_PARTITION = 256
"""Tokens below which a partition costs more than it saves."""
MOST_PARTITIONS = 64
THREADS = 256
THREADS_OF_A_CORE = {16: 512, 32: 384}
"""Threads of a threadgroup that is to fill a core, by elements of queries that a lane holds.

With more elements than these, more than `THREADS` would not keep their registers.
"""


@dataclass(frozen=True)
class DecodePlan:
    """How one decode call runs.

    Attributes:
        kernel: "grouped" loads each row of K and V once for the q heads that share it,
            "per-head" once for each of them, "barriers" as well, with three barriers a token.
        threadgroup: Threads of a threadgroup.
        partitions: Threadgroups that share the tokens of a sequence. More than one need a
            second dispatch, which merges them.
        hd_tile: Elements of a head that one lane owns; 0 if lanes own no such tile.
        heads: Query heads of a threadgroup.
        tokens: Rows of K and of V that a lane loads at a time.
        ahead: Whether the next rows are loaded into their own registers, before the current
            ones are used, instead of in their place.
    """

    kernel: Kernel
    threadgroup: int
    partitions: int = 1
    hd_tile: int = 0
    heads: int = 1
    tokens: int = 1
    ahead: bool = False

    @property
    def dispatches(self) -> int:
        """Kernels that the call launches."""
        if self.partitions > 1:
            return 2
        return 1

    def rereads(self, group: int) -> int:
        """Return how often each row of K and V is loaded, if `group` q heads share it."""
        return -(-group // self.heads)


def plan(
    problem: DecodeProblem,
    *,
    longest: int | None = None,
    kernel: Kernel | None = None,
    hd_tile: int | None = None,
    threadgroup: int | None = None,
    partitions: int | None = None,
    cores: int | None = None,
    ahead: bool = False,
) -> DecodePlan:
    """Choose every parameter of a launch that is not given.

    The sizes decide, never the contents: one model runs one kernel, whatever its batch. Tokens are
    divided only if kv heads and sequences alone make fewer than `ENOUGH_THREADGROUPS`
    threadgroups, and never into parts of fewer than `SHORTEST_PARTITION` tokens. If the number of
    GPU cores is known, tokens are divided among at most one threadgroup for each, and threadgroups
    are as large as registers allow.

    `longest` is the longest context, if it is known, else the table's whole length. `ahead` takes
    registers, and is never chosen by default. Raises UsageError for values that are impossible,
    alone or together.
    """
    if kernel is not None and kernel != "grouped":
        if hd_tile is not None or partitions not in {None, 1} or ahead:
            raise UsageError(
                f'The kernel "{kernel}" has neither tiles of a head nor partitions, '
                "nor loads ahead.",
                hint='The kernel "grouped" has all of these.',
            )
        return _plan_ungrouped(problem, kernel, threadgroup)
    tile = HD_TILES[0] if hd_tile is None else hd_tile
    if tile not in HD_TILES:
        raise UsageError(f"There is no HD_TILE of {tile}; there are 8 and 16.")
    heads = heads_at_once(problem.group, tile)
    row_bytes = 2 * tile * problem.dtype.size
    tokens = max(1, LOADED_BYTES // row_bytes)
    base_plan = DecodePlan("grouped", THREADS, 1, tile, heads, tokens, ahead)
    if partitions is None:
        if longest is None:
            longest = problem.max_blocks * problem.block_size
        rereads = base_plan.rereads(problem.group)
        threadgroups = problem.batch * problem.kv_heads * rereads
        partitions = partitions_for(threadgroups, longest, cores)
    if not 1 <= partitions <= MOST_PARTITIONS:
        raise UsageError(
            f"{partitions} partitions cannot be had; there are 1 to {MOST_PARTITIONS}."
        )
    if threadgroup is None:
        threadgroup = THREADS if cores is None else _threads_of_core(heads * tile)
    room = workload.threadgroups.MOST_BYTES - 8 * heads * LANES
    _check_threadgroup(threadgroup, room, problem.head_dim)
    return replace(base_plan, threadgroup=threadgroup, partitions=partitions)


def _plan_ungrouped(problem: DecodeProblem, kernel: Kernel, threadgroup: int | None) -> DecodePlan:
    if kernel == "per-head":
        threads = threadgroup or 256
        room = workload.threadgroups.MOST_BYTES - 256
    else:
        threads = threadgroup or 128
        room = 0
    _check_threadgroup(threads, room, problem.head_dim)
    return DecodePlan(kernel, threads)


def _threads_of_core(elements: int) -> int:
    """Return the threads that fill a core, if each lane holds this number of elements."""
    for most_elements, threads in THREADS_OF_A_CORE.items():
        if elements <= most_elements:
            return threads
    return THREADS


def heads_at_once(group: int, hd_tile: int) -> int:
    """Return how many of `group` q heads one threadgroup takes: evenly, and as many as fit."""
    most_heads = HELD_ELEMENTS // hd_tile
    return -(-group // -(-group // most_heads))


def partitions_for(threadgroups: int, longest: int, cores: int | None = None) -> int:
    """Return how many parts to make of contexts of up to `longest` tokens.

    Enough for `ENOUGH_THREADGROUPS` threadgroups in all, or, if the number of cores is known, as
    many as give no core a second one; as long as parts keep `SHORTEST_PARTITION` tokens.
    """
    if cores is None:
        wanted_partitions = -(-ENOUGH_THREADGROUPS // threadgroups)
    else:
        wanted_partitions = cores // threadgroups
    return max(1, min(wanted_partitions, longest // SHORTEST_PARTITION, MOST_PARTITIONS))


def _check_threadgroup(threads: int, room: int, head_dim: int) -> None:
    """Refuse sizes that no Apple GPU can launch; `room` is the limit of bytes for sums."""
    if threads % LANES or not LANES <= threads <= workload.threadgroups.MOST_THREADS:
        raise UsageError(
            f"A threadgroup of {threads} threads cannot be launched.",
            hint="Take a multiple of 32, at most 1024.",
        )
    needed = threads // LANES * head_dim * 4
    if room and needed > room:
        most_threads = room // (head_dim * 4) * LANES
        raise UsageError(
            f"A threadgroup of {threads} threads needs {needed} bytes of threadgroup memory for "
            f"heads of {head_dim}; {room} are there.",
            hint=f"Take at most {most_threads} threads.",
        )


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
        ("AHEAD", int(how.ahead)),
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
    """Run every specialization of one model once, on one token; return their names in Metal.

    A specialization is a pair of block size and HD_TILE, for the model's dtype, head size and
    heads; batch, lengths and number of partitions make none. After this, decoding with such block
    sizes and tiles compiles nothing. The names include that of the merge; there are none if MLX
    has no Metal.
    """
    names: set[str] = set()
    tiles: list[int | None] = [None]
    if kernel in {None, "grouped"}:
        tiles = list(hd_tiles)
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
                with needing_metal(""):
                    output, launched = _launch(problem, 1.0, how)
                    mx.eval(output)
            except ToolError:
                return frozenset()
            names |= launched
    return frozenset(names)
