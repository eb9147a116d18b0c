"""What a call of dense attention must move and compute: pure arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.ops.traffic import Traffic

_SCORE = 4  # bytes: scores are float32


@dataclass(frozen=True)
class DenseShape:
    """Sizes of a call of dense attention; see `DenseProblem`."""

    lens: Sequence[int]
    longest: int
    q_heads: int
    kv_heads: int
    head_dim: int
    itemsize: int
    queries: int = 1
    causal: bool = True

    @property
    def row(self) -> int:
        """Bytes of one token's key and value, all heads."""
        return 2 * self.kv_heads * self.head_dim * self.itemsize

    @property
    def pairs(self) -> int:
        """Pairs of a query and a key that it sees, of one head, over all sequences."""
        unseen = self.queries * (self.queries - 1) // 2 if self.causal else 0
        return sum(self.queries * length - unseen for length in self.lens)

    @property
    def out(self) -> int:
        """Bytes of the result, which are those of the queries as well."""
        return len(self.lens) * self.queries * self.q_heads * self.head_dim * self.itemsize

    @property
    def scores(self) -> int:
        """Bytes of the matrix of scores that a fused kernel spares, padding included."""
        return _SCORE * len(self.lens) * self.q_heads * self.queries * self.longest


def dense_traffic(shape: DenseShape, *, rereads: int = 1, mask: int = 0) -> Traffic:
    """Model attention that keeps no scores.

    `read` counts the padding, as an upper bound, since a kernel may skip what a mask hides;
    `unique` counts it not, since nobody needs it. A query that sees n keys takes
    4 n head_dim operations in each of its heads.

    Args:
        shape: The sizes.
        rereads: How often each row of K and V is read.
        mask: Bytes of the mask.
    """
    read = len(shape.lens) * shape.longest * shape.row
    return Traffic(
        read=rereads * read + shape.out + mask,
        unique=sum(shape.lens) * shape.row + shape.out + mask,
        written=shape.out,
        flops=4 * shape.q_heads * shape.head_dim * shape.pairs,
    )


def gathered_traffic(shape: DenseShape, block_size: int, *, rereads: int = 1) -> Traffic:
    """Model the copy out of the pages into one piece, and attention over the copy.

    Whole pages are copied, up to the longest sequence's end: they are read, written and, by
    attention, read again.
    """
    pages = len(shape.lens) * -(-shape.longest // block_size)
    copied, tables = pages * block_size * shape.row, 4 * pages
    dense = dense_traffic(shape, rereads=rereads)
    return Traffic(
        read=dense.read + copied + tables,
        unique=dense.unique + copied + tables,
        written=dense.written + copied,
        flops=dense.flops,
    )


def naive_traffic(shape: DenseShape) -> Traffic:
    """Model attention that writes the scores of all pairs down and reads them back.

    Each once, in float32: the least that an implementation with a matrix of scores can do.
    """
    dense = dense_traffic(shape)
    return Traffic(
        read=dense.read + shape.scores,
        unique=dense.unique + shape.scores,
        written=dense.written + shape.scores,
        flops=dense.flops,
    )
