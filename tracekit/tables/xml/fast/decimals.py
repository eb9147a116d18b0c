"""Decimal digits to numbers, many at once: eight digits in one 64-bit word.

The digits of a word are folded pairwise: to four numbers below 100, two below 10^4, one
below 10^8 (the SWAR conversion that D. Lemire described, "Quickly parsing eight digits").
"""

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.blocks import Block, Words
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.tokens import Positions

_ZEROS = np.uint64(0x3030303030303030)
_CARRY = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_BYTES = np.uint64(0x00FF00FF00FF00FF)
_PAIRS = np.uint64(0x0000FFFF0000FFFF)
_FOURS = np.uint64(0x00000000FFFFFFFF)
_MOST_DIGITS = 16
_WORD = 8


def naturals(block: Block, ends: Positions, digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers whose last digits stand before `ends`.

    Raises:
        IrregularError: There are no digits, too many, other characters, or a leading zero.
    """
    if not ends.size:
        return np.zeros(0, np.int64)
    most = int(digits.max())
    demand(int(digits.min()) >= 1 and most <= _MOST_DIGITS, "an id of no length, or a long one")
    first = block.octets.take(ends - digits)
    demand((first != ord("0")).all(), "an id with a leading zero")
    low = np.minimum(digits, _WORD)
    numbers = _folded(block.words[ends - _WORD], low)
    if most > _WORD:
        long = np.flatnonzero(digits > _WORD)
        high = _folded(block.words[ends.take(long) - 2 * _WORD], digits.take(long) - _WORD)
        numbers[long] += high * np.uint64(10**_WORD)
    return numbers.view(np.int64)


def _folded(words: Words, digits: NDArray[np.int64]) -> Words:
    foreign = ((_WORD - digits) << 3).view(np.uint64)
    words ^= _ZEROS
    words >>= foreign
    words <<= foreign
    demand(not (((words + _CARRY) | words) & _HIGH_BITS).any(), "an id that is no number")
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & _BYTES
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & _PAIRS
    return (words * np.uint64(10_000) + (words >> np.uint64(32))) & _FOURS
