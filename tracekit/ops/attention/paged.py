"""The op: one decode step of attention over keys and values in pages."""

from collections.abc import Sequence

import mlx.core as mx

from tracekit.ops.attention.dense import gather_pages, padding_mask, sdpa
from tracekit.ops.attention.metal import DecodePlan, paged_decode, plan
from tracekit.ops.attention.problem import DecodeProblem
from tracekit.ops.kernels import CallTraffic
from tracekit.workload import backend


def traffic(
    context_lens: Sequence[int],
    *,
    q_heads: int,
    kv_heads: int,
    head_dim: int,
    block_size: int,
    itemsize: int,
    rereads: int = 1,
    partitions: int = 1,
) -> CallTraffic:
    """Model one decode call over contexts of these lengths, in tokens.

    A sequence of L tokens needs 2 L kv_heads head_dim elements of K and V, its query, a table entry
    of 4 bytes for each of its pages and its length; it writes its output; and it takes 4 L q_heads
    head_dim operations: a multiplication and an addition for each element of the scores and of the
    weighted sum.

    Each row of K and V is read `rereads` times; see `DecodePlan.rereads` for that of a kernel.
    Several `partitions` of a sequence's tokens write float32 sums, head_dim and two more for each q
    head, which a merge reads.
    """
    row = 2 * kv_heads * head_dim * itemsize
    tokens = sum(context_lens)
    query = len(context_lens) * q_heads * head_dim * itemsize
    tables = 0
    for length in context_lens:
        pages = -(-length // block_size)
        tables += 4 * pages + 4
    parts = 0
    if partitions > 1:
        parts = len(context_lens) * q_heads * partitions * 4 * (head_dim + 2)
    row_bytes = rereads * tokens * row
    read = row_bytes + query + tables + parts
    unique = tokens * row + query + tables + parts
    flops = 4 * q_heads * head_dim * tokens
    return CallTraffic(
        read=read,
        unique=unique,
        written=query + parts,
        flops=flops,
    )


def traffic_of(
    problem: DecodeProblem, lens: Sequence[int], how: DecodePlan | None = None
) -> CallTraffic:
    """Model a decode call over contexts of these lengths; see `traffic`."""
    rereads = 1
    partitions = 1
    if how is not None:
        rereads = how.rereads(problem.group)
        partitions = how.partitions
    return traffic(
        lens,
        q_heads=problem.q_heads,
        kv_heads=problem.kv_heads,
        head_dim=problem.head_dim,
        block_size=problem.block_size,
        itemsize=problem.dtype.size,
        rereads=rereads,
        partitions=partitions,
    )


def append(
    pages: mx.array, rows: mx.array, block_tables: mx.array, positions: mx.array
) -> mx.array:
    """Write one row for each sequence into its page, and return the pages.

    MLX writes in place if no caller holds a view of `pages`, and copies the whole pool otherwise;
    so hold no slice of it, and continue with the result. `rows` are `[batch, kv_heads, head_dim]`,
    and the int32 `positions` the token of each sequence that is written. They are not checked: they
    are on the device.
    """
    block_size = pages.shape[1]
    entries = (positions // block_size)[:, None]
    blocks = mx.take_along_axis(block_tables, entries, axis=1)[:, 0]
    pages[blocks, positions % block_size] = rows
    return pages


def append_run(pages: mx.array, rows: mx.array, table: mx.array, first_token: int) -> mx.array:
    """Write rows of one sequence, `[tokens, kv_heads, head_dim]`, from token `first_token` on.

    `table` are the sequence's pages.
    """
    block_size = pages.shape[1]
    last_token = first_token + rows.shape[0]
    positions = mx.arange(first_token, last_token)
    pages[table[positions // block_size], positions % block_size] = rows
    return pages


def paged_attention(
    q: mx.array,
    k_pages: mx.array,
    v_pages: mx.array,
    block_tables: mx.array,
    context_lens: mx.array,
    *,
    scale: float,
    longest: int | None = None,
    how: DecodePlan | None = None,
) -> mx.array:
    """Attend from one new token of each sequence to all tokens of its context.

    Scores and sums are computed in float32. Token t of sequence b is in page
    `block_tables[b, t // block_size]` at row `t % block_size`; nothing past a sequence's
    length counts, whatever the pages hold there. A sequence of length 0 gives zeros.

    Page numbers of used entries are not checked: they are on the device.

    Args:
        q: `[batch, q_heads, head_dim]`, float16, bfloat16 or float32. As the pages, it must
            begin at a multiple of 16 bytes: every array does that is not a slice of another.
        k_pages: `[blocks, block_size, kv_heads, head_dim]`, row-contiguous, as `q` is.
        v_pages: As `k_pages`.
        block_tables: int32 `[batch, max_blocks]`; unused entries may hold anything.
        context_lens: int32 `[batch]` or longer. Pad it to at least 8 entries: MLX binds
            shorter arrays as constants, and so would compile a second kernel for them.
        scale: Factor of the scores, usually `head_dim ** -0.5`.
        longest: The longest context, if it is known: on Metal it limits the number of
            partitions, elsewhere the rest of the table is not gathered.
        how: The launch of a Metal kernel, from `plan`; by default it suits the machine.

    Returns:
        `[batch, q_heads, head_dim]` in the dtype of `q`.

    Raises:
        UsageError: The shapes or dtypes do not fit together.
        ToolError: A kernel was asked for, and MLX has no Metal here.
    """
    problem = DecodeProblem(q, k_pages, v_pages, block_tables, context_lens)
    return attend(problem, scale=scale, longest=longest, how=how)


def attend(
    problem: DecodeProblem,
    *,
    scale: float,
    longest: int | None = None,
    how: DecodePlan | None = None,
) -> mx.array:
    """Attend as `paged_attention` does, with arrays that were checked before.

    On Metal `kernels/paged_decode.metal` does it, in one dispatch or, with partitions, two;
    elsewhere MLX's own ops gather the pages and attend, unless a kernel's plan is given.
    """
    if how is None and backend() == "metal":
        how = plan(problem, longest=longest)
    if how is not None:
        return paged_decode(problem, scale=scale, how=how)
    return attend_gathered(problem, scale=scale, longest=longest)


def attend_gathered(
    problem: DecodeProblem, *, scale: float, longest: int | None = None
) -> mx.array:
    """Attend as `paged_attention` does, by MLX's own ops over pages that are gathered first."""
    if longest is None:
        longest = problem.max_blocks * problem.block_size
    keys, values = gather_pages(problem, longest)
    lens = problem.context_lens[: problem.batch]
    valid = padding_mask(lens, keys.shape[2])
    # A weight of 0 would not silence a NaN past a sequence's end.
    zero = mx.array(0, problem.dtype)
    values = mx.where(valid.swapaxes(2, 3), values, zero)
    queries = problem.q[:, :, None]
    attended = sdpa(queries, keys, values, scale=scale, mask=valid)
    has_context = (lens > 0)[:, None, None]
    return mx.where(has_context, attended[:, :, 0], zero)
