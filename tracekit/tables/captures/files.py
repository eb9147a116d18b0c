"""The files of a GPU frame capture: its index, the contents packed in `store0`, and plain files.

`index` names everything that a capture holds, with its size and place. Nothing in it is believed
beyond the size of the files: names lead to no other folder, sizes are bounded before anything is
inflated. A link is followed if it leads to another file of the same capture, as Metal makes for
buffers with equal contents.
"""

import os
import stat
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tracekit.base import InputError, files
from tracekit.tables.bundle.container.files import most_inflated
from tracekit.tables.bundle.errors import ArchiveError, BundleError, name_bundle

WAY_OUT = "Xcode on a Mac shows whether a capture is whole: `open RECORDING.gputrace`."
INDEX = "index"
STORE = "store0"
PROFILE_SUFFIX = ".gpuprofiler_raw"
_MAGIC = b"xdic"
_HEAD = struct.Struct("<4sIIII")
_BUCKET = 12  # bytes
_ENTRY = struct.Struct("<IIQQ")
_PACKED = 1
_PLAIN = 2
_LARGEST_INDEX = 1 << 28
_LARGEST = 1 << 30  # bytes of one content
_UNSAFE = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class StoredContent:
    """The place of a content: a stream in `store0`, or a file of its own; sizes in bytes."""

    size: int
    stored_size: int
    offset: int
    is_packed: bool


class CaptureFiles:
    """The contents of one capture, by their names in its index."""

    def __init__(self, bundle: Path) -> None:
        """Read the index; raise BundleError if it is missing or damaged."""
        self.bundle = bundle
        content = self._read_plain(INDEX, _LARGEST_INDEX)
        with self._reading(INDEX):
            self.contents, self.unexplained = _read_index(content)

    def __contains__(self, name: object) -> bool:
        return name in self.contents

    def list_names(self, prefix: str = "") -> list[str]:
        """Return the names of all contents with a prefix, sorted."""
        return sorted(name for name in self.contents if name.startswith(prefix))

    def size(self, name: str) -> int:
        """Return the size of a content in bytes, as the index gives it."""
        return self._find(name).size

    def read(self, name: str, max_bytes: int = _LARGEST) -> bytes:
        """Return a content; raise BundleError if it is not there, damaged, or larger."""
        place = self._find(name)
        if place.size > max_bytes:
            raise self.make_damage_error(name, f"holds more than {max_bytes:,} bytes")
        if not place.is_packed:
            content = self._read_plain(name, max_bytes)
            if len(content) != place.size:
                fault = f"has {len(content):,} bytes instead of {place.size:,}"
                raise self.make_damage_error(name, fault)
            return content
        with self._reading(name), self._open_plain(STORE) as file:
            return _inflate(file, place)

    def list_other_names(self) -> list[str]:
        """Return the names in the folder that the index does not have, sorted."""
        known_names = {INDEX, STORE, *self.contents}
        try:
            names = [path.name for path in self.bundle.iterdir()]
        except OSError as error:
            raise self.make_damage_error(".", f"cannot be read ({error.strerror})") from error
        return sorted(set(names) - known_names)

    def count_unexplained_of_store(self) -> int:
        """Return the bytes of `store0` that no content has."""
        packed = [place for place in self.contents.values() if place.is_packed]
        path = self.bundle / STORE
        size = 0
        if path.is_file():
            size = path.stat().st_size
        covered_to = 0
        gaps = 0
        for place in sorted(packed, key=lambda place: place.offset):
            gaps += max(0, place.offset - covered_to)
            covered_to = max(covered_to, place.offset + place.stored_size)
        return gaps + max(0, size - covered_to)

    def make_damage_error(self, name: str, fault: str) -> BundleError:
        """Return the error of a damaged content; `fault` completes the sentence about it."""
        return BundleError(f"{name_bundle(self.bundle)}: {name} {fault}.", hint=WAY_OUT)

    def _find(self, name: str) -> StoredContent:
        if name not in self.contents:
            raise self.make_damage_error(name, "is missing")
        return self.contents[name]

    def _read_plain(self, name: str, max_bytes: int) -> bytes:
        with self._reading(name), self._open_plain(name) as file:
            size = os.fstat(file.fileno()).st_size
            if size > max_bytes:
                raise ArchiveError(f"holds more than {max_bytes:,} bytes")
            return file.read(size)

    def _open_plain(self, name: str) -> BinaryIO:
        path = self.bundle / name
        try:
            if stat.S_ISLNK(os.lstat(path).st_mode):
                target = str(path.readlink())
                if not _is_safe(target) or stat.S_ISLNK(os.lstat(self.bundle / target).st_mode):
                    raise self.make_damage_error(name, "is a link to another place")
        except OSError as error:
            raise self.make_damage_error(name, "is missing") from error
        try:
            return files.open_input(path)
        except InputError as error:
            raise self.make_damage_error(name, "cannot be read") from error

    @contextmanager
    def _reading(self, name: str) -> Generator[None]:
        try:
            yield
        except ArchiveError as error:
            raise self.make_damage_error(name, str(error)) from error
        except zlib.error as error:
            raise self.make_damage_error(name, f"cannot be inflated ({error})") from error
        except OSError as error:
            raise self.make_damage_error(name, f"cannot be read ({error.strerror})") from error


def is_profile(name: str) -> bool:
    """Return whether a name is that of Xcode's raw performance data."""
    return name.endswith(PROFILE_SUFFIX)


def _inflate(file: BinaryIO, place: StoredContent) -> bytes:
    if place.size > most_inflated(place.stored_size):
        raise ArchiveError("inflates to more than a capture holds")
    # A read makes room for all that it is asked for, before it finds the end.
    if place.offset + place.stored_size > os.fstat(file.fileno()).st_size:
        raise ArchiveError(f"lies beyond the end of {STORE}")
    file.seek(place.offset)
    stored = file.read(place.stored_size)
    stream = zlib.decompressobj()
    content = stream.decompress(stored, place.size + 1)
    if len(content) != place.size or not stream.eof or stream.unused_data:
        raise ArchiveError(f"does not inflate to {place.size:,} bytes")
    return content


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of an index: the name of a content, its place, and where the entry itself is."""

    name: str
    content: StoredContent
    start: int
    name_end: int

    def change(self, index: bytearray, stored_size: int, offset: int) -> None:
        """Write another place in `store0` into the entry of an index."""
        kind = _PACKED if self.content.is_packed else _PLAIN
        _ENTRY.pack_into(index, self.start, self.content.size, stored_size, offset, kind)


def read_entries(content: bytes | bytearray) -> list[IndexEntry]:
    """Return the entries of an index in their order; raise ArchiveError if it is damaged."""
    if len(content) < _HEAD.size:
        raise ArchiveError("is cut")
    magic, _, bucket_count, count, second_count = _HEAD.unpack_from(content)
    if magic != _MAGIC or count != second_count:
        raise ArchiveError("is not the index of a GPU frame capture")
    entries_start = _HEAD.size + bucket_count * _BUCKET
    lengths_start = entries_start + count * _ENTRY.size
    place = lengths_start + 2 * count
    if place > len(content):
        raise ArchiveError("is cut")
    entries: list[IndexEntry] = []
    for number, length in enumerate(struct.unpack_from(f"<{count}H", content, lengths_start)):
        name = _read_name(content, place, length)
        start = entries_start + number * _ENTRY.size
        size, stored_size, offset, kind = _ENTRY.unpack_from(content, start)
        if kind not in {_PACKED, _PLAIN}:
            raise ArchiveError(f"has {name} in a place of the unknown kind {kind}")
        place += length
        stored = StoredContent(size, stored_size, offset, kind == _PACKED)
        entries.append(IndexEntry(name, stored, start, place))
    return entries


def _read_index(content: bytes) -> tuple[dict[str, StoredContent], int]:
    """Return the contents by their names, and the number of bytes that no part of it explains."""
    entries = read_entries(content)
    contents: dict[str, StoredContent] = {}
    for entry in entries:
        if entry.name in contents:
            raise ArchiveError(f"names {entry.name} twice")
        contents[entry.name] = entry.content
    end = entries[-1].name_end if entries else len(content)
    return contents, len(content) - end


def _read_name(content: bytes | bytearray, place: int, length: int) -> str:
    text = content[place : place + length]
    if len(text) != length or not text.endswith(b"\0"):
        raise ArchiveError("has a name without an end")
    try:
        name = text[:-1].decode()
    except UnicodeDecodeError as error:
        raise ArchiveError("has a name that is not text") from error
    if not _is_safe(name):
        raise ArchiveError(f"has the impossible name {name!r}")
    return name


def _is_safe(name: str) -> bool:
    is_printable = all(letter.isprintable() for letter in name)
    return name not in _UNSAFE and "/" not in name and is_printable
