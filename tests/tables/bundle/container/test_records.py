"""Records of a table: literal bytes to columns, in the order of their times."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.records import TIME, read_records
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import Store
from tracekit.tables.bundle.errors import BundleError

STATE, LABEL = Field(16, 4), Field(20, 8)
RECORD = 28


def stored(folder: Path, *rows: tuple[int, int, int], head: bytes = b"", cut: int = 0) -> Store:
    """Write rows of time, a narrow and a wide field; return the store that they are of."""
    store = Store(1, 3, "made", {}, (), len(rows), RECORD)
    header = struct.pack("<7I", 0x12340A0A, 3, 0x28, 0x1000, RECORD, RECORD << 16, 1 << 16)
    records = b"".join(struct.pack("<QIIIQ", time, 0, 0, one, two) for time, one, two in rows)
    chunks = -(-len(rows) // 65536) * 65536 * RECORD
    content = (head or header).ljust(0x1000, b"\0") + records.ljust(chunks, b"\0")
    path = folder / store.bulkstore
    path.parent.mkdir(parents=True)
    path.write_bytes(zlib.compress(content[: len(content) - cut], 1))
    return store


def read(folder: Path, store: Store, *fields: Field) -> list[list[int]]:
    return [column.tolist() for column in read_records(Files(folder), store, fields)]


def test_rows_are_in_the_order_of_time_and_else_as_stored(tmp_path: Path) -> None:
    store = stored(tmp_path, (5, 1, 0), (2, 2, 0), (5, 3, 0), (2, 4, 0), (9, 5, 0))
    assert read(tmp_path, store, STATE, TIME) == [[2, 4, 1, 3, 5], [2, 2, 5, 5, 9]]


def test_rows_that_the_store_does_not_count_are_damage(tmp_path: Path) -> None:
    whole = stored(tmp_path, (1, 1, 1), (2, 2, 2), (3, 3, 3))
    with pytest.raises(BundleError, match="has records behind its last row"):
        read(tmp_path, replace(whole, rows=2), LABEL)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\0" * 28, "a header that is not known"),
        (struct.pack("<7I", 0x12340A0A, 4, 40, 4096, 28, 28 << 16, 1 << 16), "is not known"),
        (struct.pack("<7I", 0x12340A0A, 3, 40, 4096, 32, 32 << 16, 1 << 16), "another size"),
        (struct.pack("<7I", 0x12340A0A, 3, 40, 4096, 28, 28 << 16, 1 << 15), "another size"),
    ],
)
def test_another_header_is_refused(tmp_path: Path, head: bytes, words: str) -> None:
    store = stored(tmp_path, (1, 2, 3), head=head)
    with pytest.raises(BundleError, match=words):
        read(tmp_path, store, STATE)


def test_records_that_end_too_early_are_damage(tmp_path: Path) -> None:
    store = stored(tmp_path, (1, 2, 3), cut=65536 * RECORD - 10)
    with pytest.raises(BundleError, match="it ends too early"):
        read(tmp_path, store, STATE)


def test_more_rows_than_a_file_can_hold_take_no_memory(tmp_path: Path) -> None:
    store = stored(tmp_path, (1, 2, 3))
    many = Store(1, 3, "made", {}, (), 1 << 40, RECORD)
    with pytest.raises(BundleError, match="is too small for its 1,099,511,627,776 rows"):
        read(tmp_path, many, STATE)
    assert read(tmp_path, store, STATE) == [[2]]
