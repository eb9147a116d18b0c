"""The tags of a block: where they stand, and how deep.

The tags come from the positions of `<` and `>` alone. That is enough for well-formed XML
without comments, CDATA and raw `>`: in all else the two do not alternate, or a tag has no
name of the vocabulary, and the reader gives up.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block
from tracekit.tables.xml.fast.irregular import IrregularError, demand

_LESS, _GREATER, _SLASH, _NEWLINE = b"<>/\n"
_ANGLE = np.uint8(0xFD)  # `<` and `>` differ in one bit
_SPACE = np.uint8(0x20)
DEEPEST = 8
_PRIVATE = np.uint8(0xEF)
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")

Positions = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tags of a block, in order.

    `starts` are the positions of `<`, `ends` those of `>`. A tag is opening, closing, or alone
    (`<…/>`). `levels` counts from a row's own tag, 0. A leaf is an opening tag that its closing
    tag follows at once; only there stands text.
    """

    starts: Positions
    ends: Positions
    opening: Flags
    closing: Flags
    leaf: Flags
    levels: NDArray[np.int8]


def tokenize(block: Block) -> Tokens:
    """Find the tags of a block; raise IrregularError where they are not those of plain rows."""
    octets = block.octets
    angles = np.flatnonzero((octets & _ANGLE) == _LESS)
    demand(angles.size and not angles.size & 1, "angles that do not pair")
    starts, ends = angles[0::2].copy(), angles[1::2].copy()
    demand(
        (octets.take(starts) == _LESS).all() and (octets.take(ends) == _GREATER).all(),
        "angles that do not alternate",
    )
    closing = octets.take(starts + 1) == _SLASH
    alone = octets.take(ends - 1) == _SLASH
    demand(not (closing & alone).any(), "a tag that closes twice")
    opening = ~(closing | alone)
    depth = np.cumsum(opening.view(np.int8) - closing.view(np.int8), dtype=np.int32)
    demand(depth.min() >= 0 and depth.max() <= DEEPEST and depth[-1] == 0, "tags that do not nest")
    levels = (depth - opening).astype(np.int8)
    leaf = np.zeros(starts.size, np.bool_)
    np.logical_and(opening[:-1], closing[1:], out=leaf[:-1])
    tokens = Tokens(starts, ends, opening, closing, leaf, levels)
    _check_gaps(block, tokens)
    return tokens


def _check_gaps(block: Block, tokens: Tokens) -> None:
    """Text stands in leaves, one newline after each row, and nothing anywhere else."""
    gaps = tokens.starts[1:] - tokens.ends[:-1]
    row_ends = np.flatnonzero(tokens.closing & (tokens.levels == 0))
    expected = np.ones(gaps.size, np.int64)
    expected[row_ends[:-1]] = 2
    demand(((gaps == expected) | tokens.leaf[:-1]).all(), "text between tags")
    newlines = tokens.ends.take(row_ends) + 1
    demand(newlines[-1] == block.size - 1 and tokens.starts[0] == 0, "text around the rows")
    demand((block.octets.take(newlines) == _NEWLINE).all(), "no newline after a row")
    demand(np.count_nonzero(block.octets < _SPACE) == row_ends.size, "control characters in a row")


def check_characters(block: Block) -> None:
    """Raise IrregularError for bytes that are not UTF-8, or no characters of XML."""
    if block.octets.view(np.int8).min() >= 0:
        return
    text = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, block.size], np.int32)), pa.py_buffer(block.octets)
    )
    try:
        text.validate(full=True)
    except pa.ArrowInvalid as error:
        raise IrregularError("bytes that are not UTF-8") from error
    if (block.octets == _PRIVATE).any():
        content = block.octets.tobytes()
        demand(not any(one in content for one in _NONCHARACTERS), "what is no character of XML")
