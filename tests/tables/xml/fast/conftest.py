"""Bytes as blocks."""

from collections.abc import Callable

import pytest

from tracekit.tables.xml.fast.tokens import Block, block


@pytest.fixture
def of() -> Callable[[bytes], Block]:
    """Make a block of some bytes."""

    def make(content: bytes) -> Block:
        return block(bytearray(content + bytes(64)), len(content))

    return make
