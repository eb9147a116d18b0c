"""Arrays that grow, and texts by number."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.xml.fast.definitions import Growing, TextHeap


def test_an_array_keeps_what_it_has_while_it_grows() -> None:
    growing = Growing(np.int64)
    for beginning in range(0, 30_000, 1000):
        growing.extend(np.arange(beginning, beginning + 1000))
    assert growing.size == 30_000
    assert (growing.array == np.arange(30_000)).all()


def test_an_array_grows_by_more_than_its_size() -> None:
    growing = Growing(np.uint8)
    growing.extend(np.full(1_000_000, 7, np.uint8))
    assert growing.size == 1_000_000
    assert (growing.array == 7).all()


def test_an_array_whose_size_was_known_stays_where_it_is() -> None:
    growing = Growing(np.int64, 1_000_000)
    growing.extend(np.arange(10))
    before = growing.array.ctypes.data
    growing.extend(np.arange(900_000))
    assert growing.array.ctypes.data == before
    assert growing.array[:12].tolist() == [*range(10), 0, 1]


def test_an_array_grows_where_so_much_memory_cannot_be_reserved() -> None:
    growing = Growing(np.int64, 1 << 58)
    growing.extend(np.arange(100_000))
    assert (growing.array == np.arange(100_000)).all()


@given(st.lists(st.lists(st.text(max_size=5), max_size=6), max_size=8), st.data())
def test_texts_are_found_by_their_numbers(batches: list[list[str]], data: st.DataObject) -> None:
    heap, texts = TextHeap(), [text for batch in batches for text in batch]
    for batch in batches:
        heap.extend(pa.array(batch, pa.string()))
    assert len(heap) == len(texts)
    if texts:
        wanted = data.draw(st.lists(st.none() | st.integers(0, len(texts) - 1), max_size=10))
        found = heap.take(pa.array(wanted, pa.int64())).to_pylist()
        assert found == [None if number is None else texts[number] for number in wanted]


def test_a_slice_of_an_array_is_added_without_the_rest() -> None:
    heap = TextHeap()
    heap.extend(pa.array(["a", "bc", "µ", ""]).slice(1, 2))
    assert heap.take(pa.array([0, 1])).to_pylist() == ["bc", "µ"]
