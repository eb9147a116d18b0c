"""Shapes, the inputs that subjects of one shape share, and the definition of a subject."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import mlx.core as mx
import psutil

from tracekit.base import UsageError
from tracekit.machine import triad
from tracekit.ops import DecodeProblem, check_heads, dense, draw_lengths, draw_problem
from tracekit.workload import Step, Work, backend, parameters, step_of


@dataclass(frozen=True)
class Shape:
    """The sizes of one bench; those of attention have the names of the workload `paged`.

    Without `max_blocks` a sequence has as many pages as it uses; `ragged` lengths are drawn at
    random instead of filling them. `queries` are tokens of the prompt in the subjects of prefill,
    whose batch is 1; `rows`, `dims` and `out_dims` are sizes of layers: tokens, elements of each,
    and elements of a result or between two products. Of `experts`, each row goes to `top_k`.
    """

    batch: int = 16
    q_heads: int = 16
    kv_heads: int = 8
    head_dim: int = 128
    block_size: int = 32
    active_blocks: int = 32
    max_blocks: int | None = None
    dtype: parameters.DtypeName = "float16"
    ragged: bool = False
    queries: int = 512
    rows: int = 16
    dims: int = 2048
    out_dims: int = 2048
    seed: int = 0
    experts: int = 8
    top_k: int = 2

    def __post_init__(self) -> None:
        """Refuse sizes that contradict each other."""
        for name, value in vars(self).items():
            if type(value) is int and name != "seed" and value < 1:
                raise UsageError(f"The {name} of a bench must be at least 1; it is {value}.")
        if self.max_blocks is not None and self.active_blocks > self.max_blocks:
            raise UsageError(
                f"A sequence cannot use {self.active_blocks} blocks of {self.max_blocks}.",
                hint="--active-blocks must not exceed --max-blocks.",
            )
        if self.top_k > self.experts:
            raise UsageError(
                f"A row cannot go to {self.top_k} of {self.experts} experts.",
                hint="--top-k must not exceed --experts.",
            )
        check_heads(self.q_heads, self.kv_heads)

    @property
    def context(self) -> int:
        """Tokens of the longest context."""
        return self.active_blocks * self.block_size

    @property
    def table(self) -> int:
        """Pages of a sequence."""
        return self.max_blocks or self.active_blocks

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return getattr(mx, self.dtype).size

    @property
    def scale(self) -> float:
        """Factor of the scores."""
        return self.head_dim**-0.5


LARGEST_SYSTEM_CACHE = 96 << 20
"""Bytes of the largest system cache that an Apple chip is known to have."""
_TIMES_CACHE = 4
_MOST_SETS = 8
_COPIES = 3  # paged, dense, and dense in the other layout
_SHARE = 0.4  # of the memory that is free


@dataclass(frozen=True)
class Cache:
    """The last cache before memory: its bytes, None if unknown, and their source."""

    bytes: int | None
    source: str

    def residence(self, working_set: int) -> Literal["memory", "cache", "unknown"]:
        """Return the place of a working set between two calls."""
        if working_set > (self.bytes or LARGEST_SYSTEM_CACHE):
            return "memory"
        if not self.bytes:
            return "unknown"
        return "cache"


def cache_here() -> Cache:
    """Return the cache of the device that MLX uses."""
    if backend() == "cpu":
        there = triad.last_cache()
        if there is not None:
            return Cache(there, "this system's largest CPU cache")
    return Cache(None, "this system does not tell; those of Apple's chips are 8 to 96 MB")


@dataclass(frozen=True)
class Inputs:
    """Inputs of one shape, drawn at their first use.

    The sets together should exceed the cache.
    """

    shape: Shape
    cache: Cache

    @property
    def dtype(self) -> mx.Dtype:
        """MLX's type of the elements."""
        return getattr(mx, self.shape.dtype)

    def sets_of(self, size: int, copies: int = 1) -> int:
        """Return how many inputs of `size` bytes should rotate: 2 to 8, as far as memory goes.

        Each of them is kept in `copies` different layouts.
        """
        free_bytes = psutil.virtual_memory().available
        total = size * copies
        if total > free_bytes:
            raise UsageError(
                f"The inputs take {total / 1e9:.1f} GB in {copies} layouts; "
                f"{free_bytes / 1e9:.1f} GB are free.",
                hint="Take smaller sizes, or fewer of them.",
            )
        cache_bytes = self.cache.bytes or LARGEST_SYSTEM_CACHE
        wanted_sets = math.ceil(_TIMES_CACHE * cache_bytes / size)
        fitting = int(free_bytes * _SHARE / total)
        return max(1, min(_MOST_SETS, max(2, wanted_sets), fitting))

    @cached_property
    def sets(self) -> int:
        """The number of decode problems that rotate."""
        shape = self.shape
        tokens = shape.batch * shape.table * shape.block_size
        pool = 2 * tokens * shape.kv_heads * shape.head_dim * shape.itemsize
        return self.sets_of(pool, _COPIES)

    @cached_property
    def lens(self) -> list[int]:
        """Context lengths of the sequences, the same in every set."""
        shape = self.shape
        if not shape.ragged:
            return [shape.context] * shape.batch
        return draw_lengths(shape.batch, shape.context, seed=shape.seed)

    @property
    def longest(self) -> int:
        """Tokens of the longest context."""
        return max(self.lens)

    @cached_property
    def problems(self) -> tuple[DecodeProblem, ...]:
        """Decode calls over pages, one for each set."""
        shape = self.shape
        problems: list[DecodeProblem] = []
        for number in range(self.sets):
            problem = draw_problem(
                self.lens,
                q_heads=shape.q_heads,
                kv_heads=shape.kv_heads,
                head_dim=shape.head_dim,
                block_size=shape.block_size,
                max_blocks=shape.table,
                dtype=self.dtype,
                seed=shape.seed + number,
            )
            problems.append(problem)
        return tuple(problems)

    @cached_property
    def dense(self) -> list[tuple[mx.array, mx.array]]:
        """Keys and values of each problem, contiguous: `[batch, kv_heads, tokens, head_dim]`.

        Rows past a sequence's end hold finite numbers here, which the mask silences.
        """
        return [
            _contiguous(*dense.gather_pages(problem, self.longest)) for problem in self.problems
        ]

    @cached_property
    def dense_bshd(self) -> list[tuple[mx.array, mx.array]]:
        """The same with tokens before heads: `[batch, tokens, kv_heads, head_dim]`."""
        return [_contiguous(k.swapaxes(1, 2), v.swapaxes(1, 2)) for k, v in self.dense]

    @cached_property
    def mask(self) -> mx.array | None:
        """The keys of the padded contexts that count; None if all do."""
        block_count = -(-self.longest // self.shape.block_size)
        tokens = block_count * self.shape.block_size
        if all(length == tokens for length in self.lens):
            return None
        mask = dense.padding_mask(mx.array(self.lens), tokens)
        mx.eval(mask)
        return mask


def _contiguous(*arrays: mx.array) -> tuple[mx.array, mx.array]:
    keys, values = map(mx.contiguous, arrays)
    mx.eval(keys, values)
    return keys, values


class SubjectUnavailable(Exception):  # noqa: N818  nothing went wrong
    """An implementation cannot run on this machine; its text says why, without a full stop."""


@dataclass(frozen=True)
class Launch:
    """How a Metal kernel is launched; None leaves a size to the kernel's plan, or to MLX.

    `kernel` is "mlx" for MLX's own operations; `hd_tile` are elements of a head that a lane owns,
    `partitions` threadgroups that share a sequence's tokens.
    """

    kernel: str
    hd_tile: int | None = None
    threadgroup: int | None = None
    partitions: int | None = None


BY_MLX = Launch("mlx")


@dataclass(frozen=True)
class Prepared:
    """An implementation on one shape.

    `step` is one call as the workload makes it. `chain` builds a number of calls over rotating
    inputs, each one fed with the result of the one before if they are `chained`; the step's `wait`
    evaluates the result. `working_set` are the bytes of all `sets` of inputs, `sequence` the
    tokens of the longest context or the rows. `error` is relative and against float64. `launch`
    makes one call, on the input of that number, of kernels of `mx.fast.metal_kernel`, for a
    separate queue; None if MLX brings the kernels.
    """

    step: Step
    chain: Callable[[int], Any]
    working_set: int
    sets: int
    sequence: int
    error: float | None = None
    chained: bool = True
    launched: Launch = BY_MLX
    launch: Callable[[int], mx.array] | None = None


def prepare_call(
    call: Callable[[int, Any], Any], work: Work, *, chained: bool = True, **details: Any
) -> Prepared:
    """Make a call measurable; it takes a number, which chooses its input, and the last result.

    The last result is None for the first of a chain, for a step, and if calls are not chained.
    """
    numbers = itertools.count()

    def chain(calls: int) -> list[Any]:
        results: list[Any] = []
        for _ in range(calls):
            previous_result = None
            if results and chained:
                previous_result = results.pop()
            results.append(call(next(numbers), previous_result))
        return results

    step = step_of(lambda: call(next(numbers), None), work)
    return Prepared(step, chain, chained=chained, **details)


@dataclass(frozen=True)
class Subject:
    """A named implementation.

    Those of one `family` do the same work on the same inputs; speed-ups are against its `naive`
    one. `prepare` raises `SubjectUnavailable` if it cannot run. If it is `paged`, its keys and
    values are in pages, so that the size of a block matters.
    """

    name: str
    suite: str
    family: str
    summary: str
    prepare: Callable[[Inputs], Prepared]
    naive: bool = False
    paged: bool = False
