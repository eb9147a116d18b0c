"""How long the contexts of a decode step are, as users choose them."""

from tracekit.base.errors import UsageError
from tracekit.ops.attention.pool import draw_lengths


def context_lengths(
    batch: int, active_blocks: int, max_blocks: int, block_size: int, *, seed: int | None
) -> list[int]:
    """Return `batch` lengths: all active blocks full, or drawn up to that with a seed.

    Raises:
        UsageError: A sequence has fewer blocks than it is to use.
    """
    if active_blocks > max_blocks:
        raise UsageError(
            f"A sequence cannot use {active_blocks} blocks of {max_blocks}.",
            hint="--active-blocks must not exceed --max-blocks.",
        )
    full = active_blocks * block_size
    return [full] * batch if seed is None else draw_lengths(batch, full, seed=seed)
