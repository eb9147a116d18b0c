"""The sizes that a bench runs on."""

from dataclasses import dataclass

from tracekit.base.dtypes import ITEMSIZES, DtypeName
from tracekit.base.errors import UsageError
from tracekit.ops.attention.problem import check_heads


@dataclass(frozen=True)
class Shape:
    """The sizes of one bench; those of attention are named as the workload `paged` names them.

    Attributes:
        batch: Sequences.
        q_heads: Query heads.
        kv_heads: Heads of K and V.
        head_dim: Elements of a head.
        block_size: Tokens of a page.
        active_blocks: Pages that a sequence uses.
        max_blocks: Pages that a sequence has; None for as many as it uses.
        dtype: Type of the elements.
        ragged: Whether lengths are drawn at random instead of filling all active blocks.
        queries: Tokens of the prompt in the subjects of prefill; their batch is 1.
        rows: Rows of RMSNorm and Linear.
        dims: Elements that go into them.
        out_dims: Elements that come out.
        seed: Seed of contents, pages and lengths.
    """

    batch: int = 16
    q_heads: int = 16
    kv_heads: int = 8
    head_dim: int = 128
    block_size: int = 32
    active_blocks: int = 32
    max_blocks: int | None = None
    dtype: DtypeName = "float16"
    ragged: bool = False
    queries: int = 512
    rows: int = 16
    dims: int = 2048
    out_dims: int = 2048
    seed: int = 0

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
        check_heads(self.q_heads, self.kv_heads)

    @property
    def context(self) -> int:
        """Tokens of the longest context."""
        return self.active_blocks * self.block_size

    @property
    def table(self) -> int:
        """Pages that a sequence has."""
        return self.max_blocks or self.active_blocks

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return ITEMSIZES[self.dtype]

    @property
    def scale(self) -> float:
        """Factor of the scores."""
        return self.head_dim**-0.5
