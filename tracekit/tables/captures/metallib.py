"""The container of compiled Metal functions: their names, their AIR, the sources it may carry.

Sources are there if the library was compiled with `-frecord-sources`. The hash of a function is the
SHA-256 of its AIR.
"""

import bz2
import hashlib
import io
import struct
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tracekit.tables.bundle.errors import ArchiveError

MAGIC = b"MTLB"
_SECTIONS = struct.Struct("<8Q")
_SECTIONS_PLACE = 24
_SIZE = struct.Struct("<I")
_TAG = struct.Struct("<4sH")
_HASH_SIZE = 32
_KERNEL = 2
_MOST_FUNCTIONS = 1 << 20
_ARCHIVE = b"SARC"
_BZIP = b"BZh"
_LARGEST_SOURCES = 1 << 26
_MOST_SOURCES = 1 << 12


@dataclass(frozen=True, slots=True)
class MetallibFunction:
    """A function of a library: its AIR by place and size in the container, and its hash.

    `type` is a number: 2 for a kernel. `digest` is empty if the container has none.
    """

    name: str
    type: int | None = None
    digest: bytes = b""
    offset: int = 0
    size: int = 0

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel."""
        return self.type == _KERNEL


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the sources that a library carries: its path in the archive, its content."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """The place of compressed sources in a library, in bytes; zeros fill its end."""

    start: int
    size: int


class Metallib:
    """A library in memory; `air_range` is the begin and the end of the AIR of all functions."""

    def __init__(self, content: bytes) -> None:
        """Read the list of functions; raise ArchiveError if the container is damaged."""
        if not content.startswith(MAGIC):
            raise ArchiveError("is not a Metal library")
        if len(content) < _SECTIONS_PLACE + _SECTIONS.size:
            raise ArchiveError("is a Metal library that is cut")
        self.content = content
        sections = _SECTIONS.unpack_from(content, _SECTIONS_PLACE)
        self.air_range = (sections[6], sections[6] + sections[7])
        if self.air_range[1] > len(content):
            raise ArchiveError("is a Metal library that is cut")
        self.functions = {function.name: function for function in self._list_functions(sections[0])}

    def read_air(self, function: MetallibFunction) -> bytes:
        """Return the AIR of a function; raise ArchiveError if it lies outside the container."""
        air_start, air_end = self.air_range
        start = air_start + function.offset
        end = start + function.size
        if end > air_end:
            raise ArchiveError(f"has the AIR of {function.name} beyond its end")
        return self.content[start:end]

    def is_intact(self, function: MetallibFunction) -> bool | None:
        """Return whether the hash of a function is that of its AIR; None if it has no hash."""
        if len(function.digest) != _HASH_SIZE:
            return None
        air = self.read_air(function)
        return hashlib.sha256(air).digest() == function.digest

    def find_archive(self) -> SourceArchive | None:
        """Return the place of the compressed sources, None if there are none."""
        start = self.content.find(_ARCHIVE, self.air_range[1])
        if start < 0 or start + 8 > len(self.content):
            return None
        (size,) = _SIZE.unpack_from(self.content, start + len(_ARCHIVE))
        end = min(len(self.content), start + len(_ARCHIVE) + _SIZE.size + size)
        packed_start = self.content.find(_BZIP, start, end)
        if packed_start < 0:
            return None
        return SourceArchive(packed_start, end - packed_start)

    def list_sources(self) -> list[SourceFile]:
        """Return the files of the sources; raise ArchiveError if these are damaged."""
        place = self.find_archive()
        if place is None:
            return []
        packed = self.content[place.start : place.start + place.size]
        return list(read_sources(packed))

    def _list_functions(self, start: int) -> Iterator[MetallibFunction]:
        place = start
        (count,) = self._unpack(_SIZE, place)
        if count > _MOST_FUNCTIONS:
            raise ArchiveError("is a Metal library with too many functions")
        place += _SIZE.size
        for _ in range(count):
            (size,) = self._unpack(_SIZE, place)
            if size < _SIZE.size:
                raise ArchiveError("is a Metal library with a damaged list of functions")
            yield self._read_function(place + _SIZE.size, place + size)
            place += size

    def _read_function(self, start: int, end: int) -> MetallibFunction:
        function = MetallibFunction("")
        place = start
        while place + _TAG.size <= end:
            tag, size = self._unpack(_TAG, place)
            if tag == b"ENDT":
                break
            place += _TAG.size
            data = self.content[place : place + size]
            if len(data) != size:
                raise ArchiveError("is a Metal library that is cut")
            function = _add_tag(function, tag, data)
            place += size
        return function

    def _unpack(self, form: struct.Struct, place: int) -> tuple[Any, ...]:
        if place + form.size > len(self.content):
            raise ArchiveError("is a Metal library that is cut")
        return form.unpack_from(self.content, place)


def _add_tag(function: MetallibFunction, tag: bytes, data: bytes) -> MetallibFunction:
    match tag:
        case b"NAME":
            name = data.rstrip(b"\0").decode("utf-8", "replace")
            return replace(function, name=name)
        case b"TYPE" if data:
            return replace(function, type=data[0])
        case b"HASH":
            return replace(function, digest=data)
        case b"MDSZ" if len(data) == 8:  # noqa: PLR2004  a u64
            return replace(function, size=int.from_bytes(data, "little"))
        case b"OFFT" if len(data) == 24:  # noqa: PLR2004  three u64
            return replace(function, offset=int.from_bytes(data[16:], "little"))
        case _:
            return function


def read_sources(packed: bytes) -> Iterator[SourceFile]:
    """Yield the files of an archive of sources: a tar, compressed with bzip2, before zeros."""
    content = unpack_archive(packed)
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for number, member in enumerate(archive):
                if number >= _MOST_SOURCES:
                    raise ArchiveError("has too many sources")
                if not member.isreg() or member.size > len(content):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    yield SourceFile(member.name, file.read())
    except (tarfile.TarError, ValueError, EOFError, OverflowError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError("has damaged sources") from error


def unpack_archive(packed: bytes) -> bytes:
    """Return the tar of an archive of sources; raise ArchiveError if it is damaged or too large."""
    stream = bz2.BZ2Decompressor()
    try:
        content = stream.decompress(packed, _LARGEST_SOURCES)
    except OSError as error:
        raise ArchiveError("has damaged sources") from error
    if not stream.eof:
        raise ArchiveError("has sources that are cut, or too large")
    return content
