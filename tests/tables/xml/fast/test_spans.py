"""Pieces of a block as texts and as numbers."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from tracekit.tables.xml.fast.elements import numbers
from tracekit.tables.xml.fast.tokens import Block, IrregularError, Spans, check_entities

MakeBlock = Callable[[bytes], Block]
BEFORE = b"." * 16


def spans(of: MakeBlock, *pieces: str) -> Spans:
    content, starts, ends = BEFORE, [], []
    for piece in pieces:
        starts.append(len(content))
        content += piece.encode()
        ends.append(len(content))
        content += b"|"
    return Spans(of(content), np.array(starts), np.array(ends))


def texts(of: MakeBlock, *pieces: str) -> list[str]:
    return spans(of, *pieces).texts(np.arange(len(pieces))).to_pylist()


def test_pieces_are_texts(of: MakeBlock) -> None:
    assert texts(of, "a", "", "µ说", "b c") == ["a", "", "µ说", "b c"]


def test_some_of_the_pieces(of: MakeBlock) -> None:
    made = spans(of, "a", "b&amp;", "c", "d&lt;")
    assert made.texts(np.array([3, 0])).to_pylist() == ["d<", "a"]
    assert made.texts(np.array([1])).to_pylist() == ["b&"]


def test_entities_are_replaced_once(of: MakeBlock) -> None:
    assert texts(of, "&amp;lt;", "&lt;&gt;&quot;&apos;&amp;", "&amp;amp;", "plain") == [
        "&lt;",
        "<>\"'&",
        "&amp;",
        "plain",
    ]


@pytest.mark.parametrize("piece", ["&", "&x;", "&#65;", "&LT;", "&lt", "&ampersand;", "&nbsp;"])
def test_other_entities_are_refused(of: MakeBlock, piece: str) -> None:
    with pytest.raises(IrregularError, match="entity"):
        check_entities(of(f"&lt;{piece}&gt;".encode()))


def test_integers_short_and_long(of: MakeBlock) -> None:
    pieces = ("0", "-1", "12345678", "12345678901234567", "0099", "-9223372036854775808")
    found = numbers(spans(of, *pieces), np.arange(len(pieces)), pa.int64())
    assert found.tolist() == [int(piece) for piece in pieces]


def test_unsigned_integers(of: MakeBlock) -> None:
    found = numbers(spans(of, "18446744073709551615", "3"), np.array([0, 1]), pa.uint64())
    assert found.dtype == np.uint64
    assert found.tolist() == [2**64 - 1, 3]


@pytest.mark.parametrize("piece", ["", "-", "1-", "x", "1.0", " 1", "1 ", "+1", "0x1", "٣", "1_0"])
def test_what_is_no_integer(of: MakeBlock, piece: str) -> None:
    with pytest.raises(IrregularError):
        numbers(spans(of, "5", piece), np.array([0, 1]), pa.int64())


@pytest.mark.parametrize("piece", ["9223372036854775808", "-9223372036854775809"])
def test_integers_beyond_64_bits(of: MakeBlock, piece: str) -> None:
    with pytest.raises(IrregularError):
        numbers(spans(of, piece), np.array([0]), pa.int64())


def test_a_negative_number_is_not_unsigned(of: MakeBlock) -> None:
    with pytest.raises(IrregularError):
        numbers(spans(of, "-1"), np.array([0]), pa.uint64())


def test_decimals(of: MakeBlock) -> None:
    pieces = ("0.1", "-2.50", "7", "7.", "1e-05", "1E3", "-0.0", "123456789012345678.25")
    found = numbers(spans(of, *pieces), np.arange(len(pieces)), pa.float64())
    assert found.tolist() == [float(piece) for piece in pieces]


@pytest.mark.parametrize("piece", ["", ".5", "-.5", "-", "1e", "e1", "1.2.3", "+1", "inf", "0x1p3"])
def test_what_is_no_decimal(of: MakeBlock, piece: str) -> None:
    with pytest.raises(IrregularError):
        numbers(spans(of, "1.5", piece), np.array([0, 1]), pa.float64())
