"""What one decode call must move and compute: pure arithmetic, no arrays of the device."""

from collections.abc import Sequence

from tracekit.ops.traffic import Traffic


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
    block_tables: Sequence[Sequence[int]] | None = None,
) -> Traffic:
    """Model one decode call over contexts of these lengths.

    A sequence of L tokens needs 2 L kv_heads head_dim elements of K and V, its query, a table
    entry of 4 bytes for each of its pages and its length; it writes its output; and it takes
    4 L q_heads head_dim operations: a multiplication and an addition for each element of the
    scores and of the weighted sum.

    Args:
        context_lens: Tokens of each sequence.
        q_heads: Query heads.
        kv_heads: Heads of K and V.
        head_dim: Elements of one head.
        block_size: Tokens of one page.
        itemsize: Bytes of an element.
        rereads: How often each row of K and V is read: `Plan.rereads` says it of a kernel.
        partitions: Parts that each sequence's tokens are shared out to. Several write float32
            sums, head_dim and two more for each q head, which a merge reads.
        block_tables: Pages of each sequence, which may share some; None if all are disjoint.
    """
    row = 2 * kv_heads * head_dim * itemsize
    tokens = sum(context_lens)
    rows = tokens if block_tables is None else _rows(context_lens, block_tables, block_size)
    query = len(context_lens) * q_heads * head_dim * itemsize
    tables = sum(4 * -(-length // block_size) + 4 for length in context_lens)
    parts = len(context_lens) * q_heads * partitions * 4 * (head_dim + 2) * (partitions > 1)
    return Traffic(
        read=rereads * tokens * row + query + tables + parts,
        unique=rows * row + query + tables + parts,
        written=query + parts,
        flops=4 * q_heads * head_dim * tokens,
    )


def _rows(lens: Sequence[int], tables: Sequence[Sequence[int]], block_size: int) -> int:
    used: dict[int, int] = {}
    for length, pages in zip(lens, tables, strict=True):
        for number, start in enumerate(range(0, length, block_size)):
            page = pages[number]
            used[page] = max(used.get(page, 0), min(block_size, length - start))
    return sum(used.values())
