"""The op: one decode step of attention over keys and values that are kept in pages."""

import mlx.core as mx

from tracekit.attention.metal import paged_decode
from tracekit.attention.problem import Problem


def backend() -> str:
    """Return where `paged_attention` runs now: "metal", "cpu" or another device of MLX's."""
    if mx.default_device() == mx.Device(mx.cpu):
        return "cpu"
    return "metal" if mx.metal.is_available() else "gpu"


def paged_attention(
    q: mx.array,
    k_pages: mx.array,
    v_pages: mx.array,
    block_tables: mx.array,
    context_lens: mx.array,
    *,
    scale: float,
    longest: int | None = None,
) -> mx.array:
    """Attend from one new token of each sequence to all tokens of its context.

    Scores and sums are made in float32. Token t of sequence b lies in page
    `block_tables[b, t // block_size]` at row `t % block_size`; nothing past a sequence's
    length counts, whatever the pages hold there. A sequence of length 0 gives zeros.

    Page numbers of used entries are not checked: they are on the device.

    Args:
        q: `[batch, q_heads, head_dim]`, float16, bfloat16 or float32.
        k_pages: `[blocks, block_size, kv_heads, head_dim]`, row-contiguous, as `q` is.
        v_pages: As `k_pages`.
        block_tables: int32 `[batch, max_blocks]`; unused entries may hold anything.
        context_lens: int32 `[batch]` or longer. Pad it to at least 8 entries: MLX binds
            shorter arrays as constants, and so would compile a second kernel for them.
        scale: Factor of the scores, usually `head_dim ** -0.5`.
        longest: The longest context, if it is known: without Metal it spares gathering the
            rest of the table.

    Returns:
        `[batch, q_heads, head_dim]` in the dtype of `q`.

    Raises:
        UsageError: The shapes or dtypes do not fit together.
    """
    problem = Problem(q, k_pages, v_pages, block_tables, context_lens)
    return attend(problem, scale=scale, longest=longest)


def attend(problem: Problem, *, scale: float, longest: int | None = None) -> mx.array:
    """Do what `paged_attention` does with arrays that were checked before.

    On Metal one dispatch of `kernels/paged_decode.metal` does all; elsewhere MLX's own ops
    gather the pages and attend.
    """
    if backend() == "metal":
        return paged_decode(problem, scale=scale)
    return _gathered(problem, scale=scale, longest=longest)


def _gathered(problem: Problem, *, scale: float, longest: int | None) -> mx.array:
    blocks = problem.max_blocks
    if longest is not None:
        blocks = min(blocks, max(1, -(-longest // problem.block_size)))
    # What lies behind a sequence's end may hold anything: page numbers that do not exist,
    # and values that are not numbers, which a weight of 0 would not silence.
    tables = mx.clip(problem.block_tables[:, :blocks], 0, problem.k_pages.shape[0] - 1)
    lens = problem.context_lens[: problem.batch, None]
    valid = mx.arange(blocks * problem.block_size)[None] < lens
    nothing = mx.array(0, problem.dtype)
    rows = (problem.batch, -1, problem.kv_heads, problem.head_dim)
    keys = problem.k_pages[tables].reshape(rows).swapaxes(1, 2)
    values = problem.v_pages[tables].reshape(rows).swapaxes(1, 2)
    values = mx.where(valid[:, None, :, None], values, nothing)
    attended = mx.fast.scaled_dot_product_attention(
        problem.q[:, :, None], keys, values, scale=scale, mask=valid[:, None, None]
    )
    return mx.where(lens[:, :, None] > 0, attended[:, :, 0], nothing)
