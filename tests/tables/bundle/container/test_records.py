"""Records of a table, and arrays of a run: taken out of literal bytes, and damage to them."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.records import TIME, read_records
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import TableStore
from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import ArchiveError, BundleError

STATE, LABEL = Field(16, 4), Field(20, 8)
RECORD = 28


def header(version: int = 3, record: int = RECORD, rows: int = 1 << 16) -> bytes:
    return struct.pack("<7I", 0x12340A0A, version, 0x28, 0x1000, record, record << 16, rows)


WHOLE = header()


def store_rows(
    folder: Path, *rows: tuple[int, int, int], head: bytes = WHOLE, cut_bytes: int = 0
) -> TableStore:
    """Write rows of time, a narrow and a wide field; return the store that they are of."""
    store = TableStore(1, 3, "made", {}, (), len(rows), RECORD)
    records = b"".join(struct.pack("<QIIIQ", time, 0, 0, narrow, two) for time, narrow, two in rows)
    chunks = -(-len(rows) // 65536) * 65536 * RECORD
    content = head.ljust(0x1000, b"\0") + records.ljust(chunks, b"\0")
    path = folder / store.bulkstore
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(content[: len(content) - cut_bytes], 1))
    return store


def read(folder: Path, store: TableStore, *fields: Field) -> list[list[int]]:
    return [column.tolist() for column in read_records(Files(folder), store, fields)]


def test_rows_are_in_the_order_of_time_and_else_as_stored(tmp_path: Path) -> None:
    store = store_rows(tmp_path, (5, 1, 0), (2, 2, 0), (5, 3, 0), (2, 4, 0), (9, 5, 0))
    assert read(tmp_path, store, STATE, TIME) == [[2, 4, 1, 3, 5], [2, 2, 5, 5, 9]]


def test_rows_that_the_store_does_not_count_are_damage(tmp_path: Path) -> None:
    whole_store = store_rows(tmp_path, (1, 1, 1), (2, 2, 2), (3, 3, 3))
    with pytest.raises(BundleError, match="has records behind its last row"):
        read(tmp_path, replace(whole_store, rows=2), LABEL)
    with pytest.raises(BundleError, match="goes on behind its last chunk"):
        read(tmp_path, replace(store_rows(tmp_path, (0, 0, 0)), rows=0), LABEL)


def test_another_header_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for head, words in (
        (b"\0" * 28, "a header that is not known"),
        (header(version=4), "is not known"),
        (header(record=32), "another size"),
        (header(rows=1 << 15), "another size"),
    ):
        with subtests.test(words):
            store = store_rows(tmp_path, (1, 2, 3), head=head)
            with pytest.raises(BundleError, match=words):
                read(tmp_path, store, STATE)


def test_records_that_end_too_early_are_damage(tmp_path: Path) -> None:
    store = store_rows(tmp_path, (1, 2, 3), cut_bytes=65536 * RECORD - 10)
    with pytest.raises(BundleError, match="it ends too early"):
        read(tmp_path, store, STATE)


def test_more_rows_than_a_file_can_hold_take_no_memory(tmp_path: Path) -> None:
    store = store_rows(tmp_path, (1, 2, 3))
    with pytest.raises(BundleError, match="is too small for its 1,099,511,627,776 rows"):
        read(tmp_path, replace(store, rows=1 << 40), STATE)
    assert read(tmp_path, store, STATE) == [[2]]


HEAD = struct.pack("<5I", 0x01234567, 0x000A337E, 1, 0, 1)
DATA_HEAD = HEAD.ljust(0x20, b"\0")
Pairs = list[tuple[int, int]]


def index_head(block: int = 1 << 20) -> bytes:
    return HEAD + struct.pack("<IIIQ", 0, 0x00400000 if block else 0, block, 0)


INDEX = index_head()


def arrays(folder: Path, data: bytes, pairs: Pairs, index: bytes = INDEX) -> Arrays:
    """Write arrays, and where the index says that they stand."""
    (folder / "a").mkdir(exist_ok=True)
    places = b"".join(struct.pack("<2I", *pair) for pair in pairs)
    (folder / "a" / "integeruniquer.data").write_bytes(zlib.compress(DATA_HEAD + data))
    (folder / "a" / "integeruniquer.index").write_bytes(zlib.compress(index + places))
    return Arrays(Files(folder), "a")


def array(*values: int) -> bytes:
    return struct.pack(f"<I{len(values)}Q", len(values), *values)


def test_a_block_begins_at_its_size(tmp_path: Path) -> None:
    content = array(1, 2).ljust(64 - 32, b"\xff") + array(7)
    chosen_arrays = arrays(tmp_path, content, [(32, 0), (0, 1)], index_head(64)).take(
        np.array([1, 0])
    )
    assert (chosen_arrays.values.tolist(), chosen_arrays.offsets.tolist()) == ([7, 1, 2], [0, 1, 3])


def test_an_array_lies_within_its_block(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for content, pair, words in (
        (array(1), (32 + 12, 0), "beyond the end"),
        (array(1), (32, 1), "beyond the end"),
        (struct.pack("<I", 2) + bytes(12), (32, 0), "does not fit"),
    ):
        with subtests.test(pair), pytest.raises(ArchiveError, match=words):
            arrays(tmp_path, content, [pair]).take(np.array([0]))


def test_an_index_of_another_form_is_damage(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for index, pairs, words in (
        (b"\0" * 40, [], "does not begin as"),
        (INDEX[:30], [], "does not begin as"),
        (INDEX + b"\0\0", [(32, 0)], "a size that cannot be"),
        (index_head(0), [], "a size that cannot be"),
        (INDEX, [(33, 0)], "an entry that cannot be"),
        (INDEX, [(1 << 20, 0)], "an entry that cannot be"),
        (INDEX, [(0, 0)], "an entry that cannot be"),
    ):
        with subtests.test(words), pytest.raises(BundleError, match=words):
            len(arrays(tmp_path, array(1), pairs, index))
