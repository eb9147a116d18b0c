"""One decode call: its arrays, the errors for those that do not fit, the expected result."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import UsageError, tolerances
from tracekit.ops.kernels import LEAST_BUFFER, check_dtypes, require_memory, take_axes

HEAD_DIMS = (64, 80, 96, 128, 256)


@dataclass(frozen=True, eq=False)
class DecodeProblem:
    """The arrays of one decode call; see `tracekit.ops.attention.paged_attention`.

    Shapes or dtypes that contradict each other raise a UsageError.
    """

    q: mx.array
    k_pages: mx.array
    v_pages: mx.array
    block_tables: mx.array
    context_lens: mx.array
    batch: int = field(init=False)  # sequences
    q_heads: int = field(init=False)
    kv_heads: int = field(init=False)
    head_dim: int = field(init=False)
    block_size: int = field(init=False)  # tokens of a page
    max_blocks: int = field(init=False)  # entries that the table has for each sequence

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        pages = ("blocks", "block_size", "kv_heads", "head_dim")
        take_axes(
            self,
            q=("batch", "q_heads", "head_dim"),
            k_pages=pages,
            v_pages=pages,
            block_tables=("batch", "max_blocks"),
        )
        check_dtypes(self, "q", "k_pages", "v_pages")
        lens = self.context_lens
        is_int32 = self.block_tables.dtype == mx.int32 and lens.dtype == mx.int32
        if not is_int32 or lens.ndim != 1 or lens.size < self.batch:
            raise UsageError(
                f"block_tables and context_lens must be int32, and there must be {self.batch} "
                f"lengths or more; they are {self.block_tables.dtype} and {lens.dtype}, and there "
                f"are {lens.size}."
            )
        check_heads(self.q_heads, self.kv_heads)

    @property
    def group(self) -> int:
        """Query heads that share a head of K and V."""
        return self.q_heads // self.kv_heads

    @property
    def scale(self) -> float:
        """The usual factor of the scores."""
        return self.head_dim**-0.5

    @property
    def dtype(self) -> mx.Dtype:
        """Type of queries, pages and output."""
        return self.q.dtype


def check_heads(q_heads: int, kv_heads: int) -> None:
    """Raise UsageError unless every kv head serves the same number of q heads."""
    if kv_heads == 0 or q_heads % kv_heads:
        raise UsageError(
            f"{q_heads} q heads cannot be shared out among {kv_heads} kv heads.",
            hint="The number of q heads must be a multiple of the number of kv heads.",
        )


def check_head_dim(head_dim: int) -> None:
    """Raise UsageError for a head size that the Metal kernel does not support."""
    if head_dim not in HEAD_DIMS:
        sizes = ", ".join(str(size) for size in HEAD_DIMS)
        raise UsageError(f"The Metal kernel has no head size {head_dim}; it has {sizes}.")


def nan_past_ends(problem: DecodeProblem) -> DecodeProblem:
    """Return the problem with NaN in all rows of all pages that hold no token of a sequence."""
    size = problem.block_size
    used_rows = np.zeros(problem.k_pages.shape[:2], bool)
    lens = np.array(problem.context_lens)[: problem.batch]
    tables = zip(np.array(problem.block_tables), lens, strict=True)
    for table, length in tables:
        rows = np.arange(length)
        used_rows[table[rows // size], rows % size] = True
    holds_tokens = mx.array(used_rows)[:, :, None, None]
    nan = mx.array(mx.nan, problem.dtype)
    keys = mx.where(holds_tokens, problem.k_pages, nan)
    values = mx.where(holds_tokens, problem.v_pages, nan)
    mx.eval(keys, values)
    return replace(problem, k_pages=keys, v_pages=values)


def draw_lengths(batch: int, longest: int, *, seed: int) -> list[int]:
    """Draw `batch` context lengths, each from 1 to `longest`, all equally likely."""
    generator = np.random.default_rng([seed, 1])
    return generator.integers(1, longest, batch, endpoint=True).tolist()


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
) -> DecodeProblem:
    """Draw queries and a pool of `len(lens) * max_blocks` pages, and fill the device with them.

    Every sequence has its own `max_blocks` pages, in shuffled order. Contents are normal;
    the lengths are padded to 8 entries, so that every batch runs one and the same kernel.
    """
    batch = len(lens)
    blocks = batch * max_blocks
    pool = (blocks, block_size, kv_heads, head_dim)
    require_memory(2 * math.prod(pool) * dtype.size, "The pool")
    numbers = np.random.default_rng([seed, 0]).permutation(blocks)
    tables = numbers.reshape(batch, max_blocks)
    padding = (0, max(0, LEAST_BUFFER - batch))
    padded_lens = np.pad(np.asarray(lens, np.int32), padding)
    key = mx.random.key(seed)
    q_seed, k_seed, v_seed = mx.random.split(key, 3)
    queries = mx.random.normal((batch, q_heads, head_dim), dtype=dtype, key=q_seed)
    keys = mx.random.normal(pool, dtype=dtype, key=k_seed)
    values = mx.random.normal(pool, dtype=dtype, key=v_seed)
    block_tables = mx.array(tables.astype(np.int32))
    context_lens = mx.array(padded_lens)
    problem = DecodeProblem(
        queries,
        keys,
        values,
        block_tables,
        context_lens,
    )
    mx.eval(problem.q, problem.k_pages, problem.v_pages)
    mx.eval(problem.block_tables, problem.context_lens)
    return problem


def context_lengths(
    batch: int, active_blocks: int, max_blocks: int, block_size: int, *, seed: int | None
) -> list[int]:
    """Return `batch` lengths: all active blocks full, or drawn up to that with a seed."""
    if active_blocks > max_blocks:
        raise UsageError(
            f"A sequence cannot use {active_blocks} blocks of {max_blocks}.",
            hint="--active-blocks must not exceed --max-blocks.",
        )
    full = active_blocks * block_size
    if seed is None:
        return [full] * batch
    return draw_lengths(batch, full, seed=seed)


def dense_reference(
    q: tolerances.Floats,
    keys: tolerances.Floats,
    values: tolerances.Floats,
    visible_keys: NDArray[np.bool_],
    *,
    scale: float,
) -> tolerances.Floats:
    """Attend by the definition, for one sequence, in float64.

    `q` is `[q_heads, queries, head_dim]`, keys and values are `[kv_heads, tokens, head_dim]`; q
    head h reads kv head h // (q_heads / kv_heads). `visible_keys` is true for the keys that each
    query sees, at least one: `[queries, tokens]`.
    """
    output = np.empty_like(q)
    group = q.shape[0] // keys.shape[0]
    for head in range(q.shape[0]):
        head_keys = keys[head // group]
        products = q[head] @ head_keys.T
        scores = np.where(visible_keys, scale * products, -np.inf)
        largest = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - largest)
        sums = weights.sum(axis=1, keepdims=True)
        head_values = values[head // group]
        output[head] = weights @ head_values / sums
    return output


def reference_of(
    problem: DecodeProblem, *, scale: float, sequences: Iterable[int] | None = None
) -> tolerances.Floats:
    """Return the right result of all sequences or some, `[sequences, q_heads, head_dim]`.

    softmax(scale * q K^T) V over the tokens of each sequence, where q head h reads kv head h //
    (q_heads / kv_heads). A sequence of length 0 gives zeros.
    """
    if sequences is None:
        sequences = range(problem.batch)
    chosen = list(sequences)
    tables = np.array(problem.block_tables)
    lens = np.array(problem.context_lens)
    output = np.zeros((len(chosen), problem.q_heads, problem.head_dim))
    for row, sequence in enumerate(chosen):
        length = int(lens[sequence])
        if length == 0:
            continue
        page_count = -(-length // problem.block_size)
        pages = mx.array(tables[sequence, :page_count])
        q = tolerances.as_float64(problem.q[sequence])[:, None]
        keys = _rows_of(problem.k_pages[pages], length)
        values = _rows_of(problem.v_pages[pages], length)
        visible_keys = np.ones((1, length), np.bool_)
        attended = dense_reference(q, keys, values, visible_keys, scale=scale)
        output[row] = attended[:, 0]
    return output


def _rows_of(pages: mx.array, length: int) -> tolerances.Floats:
    """Return the first rows of the pages of a sequence: `[kv_heads, length, head_dim]`."""
    _, _, kv_heads, head_dim = pages.shape
    rows = tolerances.as_float64(pages).reshape(-1, kv_heads, head_dim)
    return rows[:length].swapaxes(0, 1)


def largest_error(
    problem: DecodeProblem, output: mx.array, *, sequences: Iterable[int] | None = None
) -> float:
    """Return the largest relative error of `output`, with the usual factor of the scores.

    It is that of some sequences, by default of the first and the last; see `relative_error`.
    """
    if sequences is None:
        sequences = {0, problem.batch - 1}
    chosen = sorted(sequences)
    expected = reference_of(problem, scale=problem.scale, sequences=chosen)
    chosen_output = tolerances.as_float64(output[mx.array(chosen)])
    return tolerances.relative_error(chosen_output, expected)
