"""Where to begin tuning paged decode attention: a launch geometry for a shape, with reasons.

The rules are those of the kernels that are known to do well on Apple GPUs; what is best on one
machine only a measurement says.
"""

from dataclasses import dataclass

from tracekit.errors import UsageError
from tracekit.units import percent, size

THREADGROUP_MEMORY = 32 * 1024  # bytes that a threadgroup of any Apple GPU may have
LANES = 32
_BLOCK_SIZES = (64, 32, 16)
_WASTE = 0.02  # of the pool
_SIMDGROUPS = (8, 4, 2, 1)
_HEADS_TOGETHER = (4, 3, 2, 1)
_LOAD = 16  # bytes that a lane loads at once
_TOKENS_AT_ONCE = 4  # that a simdgroup takes before it rescales its sums
_GROUPS_A_CORE = 8
_PARTITION = 256  # tokens, at least


@dataclass(frozen=True)
class Shape:
    """One decode call.

    Attributes:
        batch: Sequences.
        q_heads: Query heads.
        kv_heads: Heads of K and V.
        head_dim: Elements of a head.
        context: Tokens of a sequence.
        itemsize: Bytes of an element.
    """

    batch: int
    q_heads: int
    kv_heads: int
    head_dim: int
    context: int
    itemsize: int

    def __post_init__(self) -> None:
        """Refuse a shape that no kernel could have."""
        for name, value in vars(self).items():
            if value < 1:
                raise UsageError(f"The {name} of a shape must be at least 1; it is {value}.")
        if self.q_heads % self.kv_heads:
            raise UsageError(
                f"{self.q_heads} q heads cannot be shared out among {self.kv_heads} kv heads.",
                hint="The number of q heads must be a multiple of the number of kv heads.",
            )

    @property
    def group(self) -> int:
        """Query heads of each kv head."""
        return self.q_heads // self.kv_heads


@dataclass(frozen=True)
class Choice:
    """One parameter of a launch: its value, None where it cannot be said, and why."""

    name: str
    value: int | None
    why: str


def suggest(shape: Shape, cores: int | None) -> tuple[Choice, ...]:
    """Return a launch geometry for a shape on a GPU with so many cores.

    In order: `block_size` (tokens), `heads_together` (query heads of a threadgroup), `simdgroups`
    and `threadgroup` (threads), `threadgroup_memory` (bytes, for the merge at the end), `hd_tile`
    (elements that a lane loads at once), `partitions` (of a sequence's tokens).
    """
    heads = _heads_together(shape)
    assert heads.value is not None
    simdgroups = _simdgroups(shape, heads.value)
    assert simdgroups.value is not None
    return (
        _block_size(shape),
        heads,
        simdgroups,
        Choice("threadgroup", simdgroups.value * LANES, f"{LANES} threads for each simdgroup."),
        Choice(
            "threadgroup_memory",
            merge_memory(shape.head_dim, heads.value, simdgroups.value),
            "the merge at the end: sums, and maximum and weight, of each head and simdgroup.",
        ),
        _hd_tile(shape),
        _partitions(shape, heads.value, cores),
    )


def merge_memory(head_dim: int, heads: int, simdgroups: int) -> int:
    """Return the bytes of threadgroup memory that merge the simdgroups' partial results.

    Each simdgroup leaves, for each of its query heads, `head_dim` sums, a maximum and a total
    weight, all in float32.
    """
    return simdgroups * heads * (head_dim + 2) * 4


def _block_size(shape: Shape) -> Choice:
    """Take the largest block that wastes little: on average half of a sequence's last one."""
    wastes = {block: block / (2 * shape.context + block) for block in _BLOCK_SIZES}
    fitting = [block for block in _BLOCK_SIZES if wastes[block] <= _WASTE]
    block = fitting[0] if fitting else _BLOCK_SIZES[-1]
    comparison = "at most" if fitting else "more than"
    return Choice(
        "block_size",
        block,
        f"with {shape.context} tokens about {percent(wastes[block])} of the pool are unused ends "
        f"of last blocks, {comparison} {percent(_WASTE)}; larger blocks mean fewer look-ups in "
        "the table.",
    )


def _heads_together(shape: Shape) -> Choice:
    if shape.group == 1:
        return Choice("heads_together", 1, "each q head has a kv head of its own.")
    heads = next(one for one in _HEADS_TOGETHER if shape.group % one == 0)
    why = f"{shape.group} q heads share a kv head: "
    if heads == shape.group:
        return Choice("heads_together", heads, why + "each row of K and V is loaded once for all.")
    reads = shape.group // heads
    why += (
        f"all at once would need too many registers, so each row is loaded {reads} times, "
        "all but the first from cache."
    )
    return Choice("heads_together", heads, why)


def _simdgroups(shape: Shape, heads: int) -> Choice:
    most = max(1, shape.context // _TOKENS_AT_ONCE)
    fitting = [
        one
        for one in _SIMDGROUPS
        if one <= most and merge_memory(shape.head_dim, heads, one) <= THREADGROUP_MEMORY
    ]
    if not fitting:
        raise UsageError(
            f"A head of {shape.head_dim} elements does not fit into the "
            f"{size(THREADGROUP_MEMORY)} of a threadgroup's memory."
        )
    why = f"they share out a sequence's tokens, {_TOKENS_AT_ONCE} at a time"
    if fitting[0] != _SIMDGROUPS[0]:
        too_many = _SIMDGROUPS[_SIMDGROUPS.index(fitting[0]) - 1]
        needed = merge_memory(shape.head_dim, heads, too_many)
        why += (
            f"; {too_many} would have nothing to do"
            if too_many > most
            else f"; {too_many} would need {size(needed)} of {size(THREADGROUP_MEMORY)} to merge"
        )
    return Choice("simdgroups", fitting[0], why + ".")


def _hd_tile(shape: Shape) -> Choice:
    widest = max(1, _LOAD // shape.itemsize)
    tile = next(one for one in range(widest, 0, -1) if shape.head_dim % one == 0)
    why = f"{tile * shape.itemsize} bytes in one load of a lane"
    if tile < widest:
        why += f"; {widest} elements would be {_LOAD} bytes, but do not divide {shape.head_dim}"
    return Choice("hd_tile", tile, why + ".")


def _partitions(shape: Shape, heads: int, cores: int | None) -> Choice:
    name = "partitions"
    groups = shape.batch * shape.q_heads // heads
    if cores is None:
        return Choice(name, None, "how many are worth it depends on the number of GPU cores.")
    enough = _GROUPS_A_CORE * cores
    have = f"{groups} threadgroups without splitting, and {cores} cores want {enough}"
    if groups >= enough:
        return Choice(name, 1, f"{have}: the tokens of a sequence need not be split.")
    most = max(1, shape.context // _PARTITION)
    parts = min(most, -(-enough // groups))
    if parts == 1:
        short = f"{shape.context} tokens are too few to split into parts of {_PARTITION}."
        return Choice(name, 1, f"{have}, but {short}")
    return Choice(name, parts, f"{have}; a second kernel merges the parts.")
