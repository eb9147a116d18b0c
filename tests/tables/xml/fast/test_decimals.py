"""Digits to numbers, eight at a time, against Python's own."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.xml.fast.elements import ids, naturals
from tracekit.tables.xml.fast.tokens import Block, IrregularError, block

PADDING = b"." * 16


def laid_out(texts: list[str]) -> tuple[Block, np.ndarray, np.ndarray]:
    """Lay texts behind each other; return the block, their ends and their lengths."""
    content, ends = PADDING, []
    for text in texts:
        content += text.encode() + b'"'
        ends.append(len(content) - 1)
    return (
        block(bytearray(content + bytes(64)), len(content)),
        np.array(ends),
        np.array([len(text) for text in texts]),
    )


@given(st.lists(st.integers(0, 10**16 - 1).map(str), min_size=1, max_size=20))
def test_naturals_of_up_to_sixteen_digits(texts: list[str]) -> None:
    numbers, valid = naturals(*laid_out(texts))
    assert numbers.tolist() == [int(text) for text in texts]
    assert valid.all()


@given(st.lists(st.text("0123456789/:-+ .aFµ", min_size=1, max_size=8), min_size=1, max_size=20))
def test_only_digits_are_valid(texts: list[str]) -> None:
    bytes_long = [text for text in texts if len(text.encode()) == len(text)]
    if bytes_long:
        _, valid = naturals(*laid_out(bytes_long))
        digits = [all(one in "0123456789" for one in text) for text in bytes_long]
        assert valid.tolist() == digits


def test_every_other_byte_is_noticed_in_every_place() -> None:
    others = [octet for octet in range(256) if not 0x30 <= octet <= 0x39]
    for octet, place in itertools.product(others, range(8)):
        content = bytearray(PADDING + b"12345678")
        content[len(PADDING) + place] = octet
        _, valid = naturals(block(content + bytes(64), 24), np.array([24]), np.array([8]))
        assert not valid.any(), (octet, place)


@given(st.lists(st.integers(1, 10**16 - 1), min_size=1, max_size=20))
def test_ids(numbers: list[int]) -> None:
    assert ids(*laid_out([str(number) for number in numbers])).tolist() == numbers


@pytest.mark.parametrize("text", ["", "0", "01", "1x", "12345678901234567", " 1", "-1"])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(IrregularError, match="id"):
        ids(*laid_out([text]))


def test_no_ids_at_all(of: Callable[[bytes], Block]) -> None:
    nothing = np.zeros(0, np.int64)
    assert ids(of(PADDING), nothing, nothing).size == 0
