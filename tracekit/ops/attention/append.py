"""New keys and values into their pages."""

import mlx.core as mx


def append(
    pages: mx.array, rows: mx.array, block_tables: mx.array, positions: mx.array
) -> mx.array:
    """Write one row for each sequence into its page, and return the pages.

    MLX writes in place if nobody else holds a view of `pages`, and copies the whole pool
    otherwise; so hold no slice of it, and go on with what is returned.

    Args:
        pages: `[blocks, block_size, kv_heads, head_dim]`.
        rows: `[batch, kv_heads, head_dim]`.
        block_tables: int32 `[batch, max_blocks]`.
        positions: int32 `[batch]`: the token of each sequence that is written. They are not
            checked: they are on the device.
    """
    block_size = pages.shape[1]
    blocks = mx.take_along_axis(block_tables, (positions // block_size)[:, None], axis=1)[:, 0]
    pages[blocks, positions % block_size] = rows
    return pages


def append_run(pages: mx.array, rows: mx.array, table: mx.array, first: int) -> mx.array:
    """Write the rows of one sequence, as a prefill does, from token `first` on.

    Args:
        pages: `[blocks, block_size, kv_heads, head_dim]`.
        rows: `[tokens, kv_heads, head_dim]`.
        table: int32 `[max_blocks]`, the sequence's pages.
        first: The token of the first row.
    """
    block_size = pages.shape[1]
    positions = mx.arange(first, first + rows.shape[0])
    pages[table[positions // block_size], positions % block_size] = rows
    return pages
