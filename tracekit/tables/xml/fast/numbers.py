"""Pieces of a block as numbers, many at once.

The digits of a word are folded pairwise: to four numbers below 100, two below 10^4, one
below 10^8 (the SWAR conversion that D. Lemire described, "Quickly parsing eight digits").
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.tokens import (
    Block,
    Flags,
    IrregularError,
    Positions,
    Spans,
    Words,
    demand,
)

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
    """Return the ids whose last digits stand before `ends`."""
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


DIGITS = np.zeros(256, np.bool_)
DIGITS[list(b"0123456789")] = True
_SIGNED = DIGITS.copy()
_SIGNED[ord("-")] = True
_FLOATING = _SIGNED.copy()
_FLOATING[list(b".eE+")] = True

Numbers = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.float64]


def numbers(spans: Spans, chosen: Positions, kind: pa.DataType) -> Numbers:
    """Return the chosen pieces as numbers of a kind: int64, uint64 or float64."""
    if pa.types.is_floating(kind):
        return _checked(spans.texts(chosen), kind)
    starts, ends = spans.bounds(chosen)
    digits = ends - starts
    short = (digits >= 1) & (digits <= MOST_DIGITS)
    if not short.all():
        digits = np.clip(digits, 1, MOST_DIGITS)
    found, valid = naturals(spans.block, ends, digits)
    others = np.flatnonzero(~(valid & short))
    if others.size:
        texts = spans.texts(chosen.take(others))
        found[others] = _checked(texts, kind).view(np.int64)
    return found.view(np.uint64) if pa.types.is_uint64(kind) else found


def octets_of(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets and the bytes of an array of strings without nulls."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    return offsets, np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def consists_of(texts: pa.Array, allowed: Flags) -> bool:
    """Tell whether texts have no other bytes than those allowed."""
    offsets, octets = octets_of(texts)
    return bool(allowed.take(octets[offsets[0] : offsets[-1]]).all())


def cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert texts as Arrow does, or give up."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise IrregularError(str(error)) from error


def _checked(texts: pa.Array, kind: pa.DataType) -> Numbers:
    floating = pa.types.is_floating(kind)
    demand(consists_of(texts, _FLOATING if floating else _SIGNED), "a number in other words")
    if floating:
        _check_first_digits(texts)
    return cast(texts, kind).to_numpy()


def _check_first_digits(texts: pa.Array) -> None:
    """Arrow reads ".5" too, which is no number of an export."""
    offsets, octets = octets_of(texts)
    demand((offsets[1:] > offsets[:-1]).all(), "a number without digits")
    first = offsets[:-1] + (octets.take(offsets[:-1]) == ord("-"))
    demand((first < offsets[1:]).all(), "a number without digits")
    demand(DIGITS.take(octets.take(first)).all(), "a number without digits")
