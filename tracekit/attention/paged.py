"""The op: one decode step of attention over keys and values that are kept in pages."""

import mlx.core as mx

from tracekit.attention.dense import gathered, padding_mask, sdpa
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
    longest = problem.max_blocks * problem.block_size if longest is None else longest
    keys, values = gathered(problem, longest)
    lens = problem.context_lens[: problem.batch]
    valid = padding_mask(lens, keys.shape[2])
    # A weight of 0 would not silence what is not a number behind a sequence's end.
    nothing = mx.array(0, problem.dtype)
    values = mx.where(valid.swapaxes(2, 3), values, nothing)
    attended = sdpa(problem.q[:, :, None], keys, values, scale=scale, mask=valid)
    return mx.where((lens > 0)[:, None, None], attended[:, :, 0], nothing)
