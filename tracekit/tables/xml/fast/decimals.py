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
_BYTES = np.uint64(0x00FF00FF00FF00FF)
_PAIRS = np.uint64(0x0000FFFF0000FFFF)
_FOURS = np.uint64(0x00000000FFFFFFFF)
_WORD = 8

Counts = NDArray[np.int64]


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
    bad = np.zeros(ends.size, np.uint64)
    numbers = _folded(block.words[ends - _WORD], np.minimum(digits, _WORD), bad)
    long = np.flatnonzero(digits > _WORD)
    if long.size:
        more_bad = np.zeros(long.size, np.uint64)
        words = block.words[ends.take(long) - 2 * _WORD]
        high = _folded(words, digits.take(long) - _WORD, more_bad)
        numbers[long] += high * np.uint64(10**_WORD)
        bad[long] |= more_bad
    return numbers.view(np.int64), bad == 0


def _folded(words: Words, digits: Counts, bad: Words) -> Words:
    foreign = ((_WORD - digits) << 3).view(np.uint64)
    words ^= _ZEROS
    words >>= foreign
    words <<= foreign
    np.bitwise_and((words + _CARRY) | words, _HIGH_BITS, out=bad)
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & _BYTES
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & _PAIRS
    return (words * np.uint64(10_000) + (words >> np.uint64(32))) & _FOURS
