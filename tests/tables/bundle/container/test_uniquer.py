"""Arrays of a run: taken by number out of literal bytes, in blocks, and damage to them."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import ArchiveError, BundleError

HEAD = struct.pack("<5I", 0x01234567, 0x000A337E, 1, 0, 1)
DATA_HEAD = HEAD.ljust(0x20, b"\0")
INDEX_HEAD = HEAD + struct.pack("<IIIQ", 0, 0x00400000, 0x00100000, 0)


def written(
    folder: Path, data: bytes, pairs: list[tuple[int, int]], index: bytes = INDEX_HEAD
) -> Arrays:
    (folder / "a").mkdir(exist_ok=True)
    places = b"".join(struct.pack("<2I", *pair) for pair in pairs)
    (folder / "a" / "integeruniquer.data").write_bytes(zlib.compress(DATA_HEAD + data))
    (folder / "a" / "integeruniquer.index").write_bytes(zlib.compress(index + places))
    return Arrays(Files(folder), "a")


def array(*values: int) -> bytes:
    return struct.pack(f"<I{len(values)}Q", len(values), *values)


def ids(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_a_block_begins_at_its_size(tmp_path: Path) -> None:
    small = HEAD + struct.pack("<IIIQ", 0, 0x00400000, 64, 0)
    content = array(1, 2).ljust(64 - 32, b"\xff") + array(7)
    arrays = written(tmp_path, content, [(32, 0), (0, 1)], small)
    assert arrays.take(ids(1, 0)).values.tolist() == [7, 1, 2]


@pytest.mark.parametrize(
    ("content", "pair", "words"),
    [
        (array(1), (32 + 12, 0), "beyond the end"),
        (array(1), (32, 1), "beyond the end"),
        (struct.pack("<I", 2) + bytes(12), (32, 0), "does not fit"),
    ],
)
def test_an_array_lies_within_its_block(
    tmp_path: Path, content: bytes, pair: tuple[int, int], words: str
) -> None:
    arrays = written(tmp_path, content, [pair])
    with pytest.raises(ArchiveError, match=words):
        arrays.take(ids(0))


@pytest.mark.parametrize(
    ("index", "pairs", "words"),
    [
        (b"\0" * 40, [], "does not begin as"),
        (INDEX_HEAD[:30], [], "does not begin as"),
        (INDEX_HEAD + b"\0\0", [(32, 0)], "a size that cannot be"),
        (HEAD + struct.pack("<IIIQ", 0, 0, 0, 0), [], "a size that cannot be"),
        (INDEX_HEAD, [(33, 0)], "an entry that cannot be"),
        (INDEX_HEAD, [(1 << 20, 0)], "an entry that cannot be"),
        (INDEX_HEAD, [(0, 0)], "an entry that cannot be"),
    ],
)
def test_an_index_of_another_form_is_damage(
    tmp_path: Path, index: bytes, pairs: list[tuple[int, int]], words: str
) -> None:
    arrays = written(tmp_path, array(1), pairs, index)
    with pytest.raises(BundleError, match=words):
        len(arrays)
