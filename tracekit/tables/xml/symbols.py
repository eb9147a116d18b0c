"""The symbol table of an export: its stacks, and the frames that they are made of."""

from dataclasses import dataclass

import pyarrow as pa

STACK_TYPES = frozenset({"backtrace", "kperf-bt", "tagged-backtrace", "text-backtrace"})
FRAMES = pa.schema(
    [
        ("frame", pa.int64()),
        ("name", pa.string()),
        ("address", pa.uint64()),
        ("binary", pa.string()),
        ("uuid", pa.string()),
        ("arch", pa.string()),
        ("load_address", pa.uint64()),
        ("path", pa.string()),
        ("source", pa.string()),
        ("line", pa.int64()),
    ]
)
STACKS = pa.schema([("stack", pa.int64()), ("frames", pa.list_(pa.int64()))])


@dataclass(frozen=True, eq=False)
class Symbols:
    """Stacks and frames, each numbered from 0 in the order in which the export defines them.

    `frames` has the columns of `FRAMES`, null where the export does not say. `stacks` has those
    of `STACKS`: the numbers of a stack's frames, the innermost first. Addresses that stand
    without a frame, as in a `kperf-bt`, are frames behind all others, one for each address.
    """

    frames: pa.Table
    stacks: pa.Table


def no_symbols() -> Symbols:
    """Return the symbol table of an export without stacks."""
    return Symbols(FRAMES.empty_table(), STACKS.empty_table())
