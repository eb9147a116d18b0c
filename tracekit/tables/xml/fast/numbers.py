"""Pieces of a block as numbers, converted as `tracekit.tables.values` converts texts."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.decimals import MOST_DIGITS, naturals
from tracekit.tables.xml.fast.irregular import IrregularError, demand
from tracekit.tables.xml.fast.spans import Spans
from tracekit.tables.xml.fast.tokens import Flags, Positions

DIGITS = np.zeros(256, np.bool_)
DIGITS[list(b"0123456789")] = True
_SIGNED = DIGITS.copy()
_SIGNED[ord("-")] = True
_FLOATING = _SIGNED.copy()
_FLOATING[list(b".eE+")] = True

Numbers = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.float64]


def numbers(spans: Spans, chosen: Positions, kind: pa.DataType) -> Numbers:
    """Return the chosen pieces as numbers of a kind: int64, uint64 or float64.

    Raises:
        IrregularError: One is no such number, or written in a way that Arrow reads otherwise.
    """
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
