"""Where to begin with paged decode attention: a launch for a shape, with the reasons.

What can be launched is what the kernel can do, see `tracekit.ops.attention.plan`. What is best on
one machine only a measurement says.
"""

from dataclasses import dataclass

from tracekit.base import UsageError, percent, size
from tracekit.ops import (
    HD_TILES,
    LANES,
    LOADED_BYTES,
    MOST_PARTITIONS,
    SHORTEST_PARTITION,
    THREADGROUP_BYTES,
    check_head_dim,
    check_heads,
    heads_at_once,
)

_BLOCK_SIZES = (64, 32, 16)
_WASTE = 0.02  # of the pool
_SIMDGROUPS = (8, 4, 2, 1)
_LOAD = 16  # bytes that a lane loads at once
_GROUPS_A_CORE = 8
_FEWEST_LANES = 4  # that share a row


@dataclass(frozen=True)
class DecodeShape:
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
        """Refuse a shape that the kernel could not have."""
        for name, value in vars(self).items():
            if value < 1:
                raise UsageError(f"The {name} of a shape must be at least 1; it is {value}.")
        check_heads(self.q_heads, self.kv_heads)
        check_head_dim(self.head_dim)

    @property
    def group(self) -> int:
        """Query heads of each kv head."""
        return self.q_heads // self.kv_heads


@dataclass(frozen=True)
class Suggestion:
    """One parameter of a launch: its value, None where it cannot be said, and why."""

    name: str
    value: int | None
    why: str


def suggest(shape: DecodeShape, cores: int | None) -> tuple[Suggestion, ...]:
    """Return a launch for a shape on a GPU with so many cores.

    In order: `block_size` (tokens), `hd_tile` (elements of a head that a lane owns),
    `heads_together` (query heads of a threadgroup), `simdgroups` and `threadgroup` (threads),
    `threadgroup_memory` (bytes, for the merge at the end), `partitions` (of a sequence's tokens).
    """
    tile = HD_TILES[0]
    heads = heads_at_once(shape.group, tile)
    simdgroups, why = _simdgroups(shape, tile)
    memory = merge_memory(shape.head_dim, heads, simdgroups)
    return (
        _block_size(shape),
        _hd_tile(shape, tile),
        Suggestion("heads_together", heads, _why_together(shape, heads)),
        Suggestion("simdgroups", simdgroups, why),
        Suggestion("threadgroup", simdgroups * LANES, f"{LANES} threads for each simdgroup."),
        Suggestion(
            "threadgroup_memory",
            memory,
            f"{size(memory)} of {size(THREADGROUP_BYTES)}: the simdgroups' sums, a head at a time, "
            "and the peak and weight of each head.",
        ),
        _partitions(shape, heads, cores),
    )


def merge_memory(head_dim: int, heads: int, simdgroups: int) -> int:
    """Return the bytes of threadgroup memory that merge the simdgroups' partial results.

    Each simdgroup leaves `head_dim` sums of one head at a time, and of each of its query heads a
    peak and a total weight, all in float32.
    """
    return simdgroups * (head_dim + 2 * heads) * 4


def _block_size(shape: DecodeShape) -> Suggestion:
    """Take the largest block that wastes little: on average half of a sequence's last one."""
    wastes = {block: block / (2 * shape.context + block) for block in _BLOCK_SIZES}
    fitting = [block for block in _BLOCK_SIZES if wastes[block] <= _WASTE]
    block = fitting[0] if fitting else _BLOCK_SIZES[-1]
    comparison = "at most" if fitting else "more than"
    return Suggestion(
        "block_size",
        block,
        f"with {shape.context} tokens about {percent(wastes[block])} of the pool are unused ends "
        f"of last blocks, {comparison} {percent(_WASTE)}; larger blocks mean fewer look-ups in "
        "the table.",
    )


def _hd_tile(shape: DecodeShape, tile: int) -> Suggestion:
    loads = tile * shape.itemsize // _LOAD
    how = "one load" if loads == 1 else f"{loads} loads"
    return Suggestion(
        "hd_tile",
        tile,
        f"{how} of {_LOAD} bytes for each lane and row; {HD_TILES[1]} leaves registers for half "
        "as many q heads.",
    )


def _why_together(shape: DecodeShape, heads: int) -> str:
    if shape.group == 1:
        return "each q head has a kv head of its own."
    shared = f"{shape.group} q heads share a kv head: "
    if heads == shape.group:
        return shared + "each row of K and V is loaded once for all."
    reads = -(-shape.group // heads)
    return shared + (
        f"all at once would need too many registers, so each row is loaded {reads} times, "
        "all but the first from cache."
    )


def _simdgroups(shape: DecodeShape, tile: int) -> tuple[int, str]:
    at_once = _tokens_at_once(shape, tile)
    busy = max(1, shape.context // at_once)
    count = next(one for one in _SIMDGROUPS if one <= busy)
    why = f"they share out a sequence's tokens, {at_once} at a time"
    if count != _SIMDGROUPS[0]:
        why += f"; {2 * count} would have too little to do"
    return count, why + "."


def _tokens_at_once(shape: DecodeShape, tile: int) -> int:
    """Return the tokens that a simdgroup has under way: rows side by side, times their depth."""
    row_lanes = _FEWEST_LANES
    while row_lanes * tile < shape.head_dim:
        row_lanes *= 2
    depth = max(1, LOADED_BYTES // (2 * tile * shape.itemsize))
    return max(1, LANES // row_lanes) * depth


def _partitions(shape: DecodeShape, heads: int, cores: int | None) -> Suggestion:
    name = "partitions"
    groups = shape.batch * shape.kv_heads * -(-shape.group // heads)
    if cores is None:
        return Suggestion(name, None, "how many are worth it depends on the number of GPU cores.")
    enough = _GROUPS_A_CORE * cores
    have = f"{groups} threadgroups without splitting, and {cores} cores want {enough}"
    if groups >= enough:
        return Suggestion(name, 1, f"{have}: the tokens of a sequence need not be split.")
    most = max(1, min(shape.context // SHORTEST_PARTITION, MOST_PARTITIONS))
    parts = min(most, -(-enough // groups))
    if parts == 1:
        short = f"{shape.context} tokens are too few for parts of {SHORTEST_PARTITION}."
        return Suggestion(name, 1, f"{have}, but {short}")
    return Suggestion(name, parts, f"{have}; a second kernel merges the parts.")
