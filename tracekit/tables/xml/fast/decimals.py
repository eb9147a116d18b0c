"""Decimal digits to numbers, many at once: eight digits in one 64-bit word.

The digits of a word are folded pairwise: to four numbers below 100, two below 10^4, one
below 10^8 (the SWAR conversion that D. Lemire described, "Quickly parsing eight digits").
"""

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block, Words
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.tokens import Flags, Positions

MOST_DIGITS = 16
_ZEROS = np.uint64(0x3030303030303030)
_CARRY = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_FOLDS = tuple(
    (np.uint64(ten), np.uint64(shift), np.uint64(mask))
    for ten, shift, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    )
)
_WORD = 8

Counts = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


def ids(block: Block, ends: Positions, digits: Counts) -> NDArray[np.int64]:
    """Return the ids whose last digits stand before `ends`.

    Raises:
        IrregularError: There are no digits, too many, other characters, or a leading zero.
    """
    if not ends.size:
        return np.zeros(0, np.int64)
    demand(digits.min() >= 1 and digits.max() <= MOST_DIGITS, "an id of no length, or a long one")
    demand((block.octets.take(ends - digits) != ord("0")).all(), "an id with a leading zero")
    numbers, valid = naturals(block, ends, digits)
    demand(valid.all(), "an id that is no number")
    return numbers


def naturals(block: Block, ends: Positions, digits: Counts) -> tuple[NDArray[np.int64], Flags]:
    """Return the numbers of 1 to 16 digits that end before `ends`, and which are digits all."""
    long = np.flatnonzero(digits > _WORD) if digits.max() > _WORD else _NONE
    numbers, bad = _folded(block.words[ends - _WORD], np.minimum(digits, _WORD))
    if long.size:
        words = block.words[ends.take(long) - 2 * _WORD]
        high, more_bad = _folded(words, digits.take(long) - _WORD)
        numbers[long] += high * np.uint64(10**_WORD)
        bad[long] |= more_bad
    return numbers.view(np.int64), bad == 0


def _folded(words: Words, digits: Counts) -> tuple[Words, Words]:
    """Return the numbers, and 0 where all digits were digits."""
    foreign = ((_WORD - digits) << 3).view(np.uint64)
    words ^= _ZEROS
    words >>= foreign
    words <<= foreign
    bad = words + _CARRY
    bad |= words
    bad &= _HIGH_BITS
    for ten, shift, mask in _FOLDS:
        tens = words * ten
        words >>= shift
        words += tens
        words &= mask
    return words, bad
