"""The files of a bundle: found without following links, inflated up to a bound.

Most are zlib streams, which begin with 78; a file that does not is read as it is. Sizes in a file
are never trusted without a bound: a few kilobytes can inflate to gigabytes.
"""

import os
import re
import stat
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tracekit.base import InputError, files
from tracekit.tables.bundle.errors import WAY_OUT, ArchiveError, BundleError, name_bundle

_ZLIB = b"\x78"
_BLOCK = 1 << 16
_INFLATED = 16  # times the size of a block: the most that one block of content holds
_FREE = 1 << 26  # bytes that any file may have
_RATIO = 128  # stored data shrinks to a tenth; a stream of zeroes, to a thousandth
_NUMBERED = re.compile(r"[0-9]{1,9}", re.ASCII)


class Files:
    """The files of one bundle, by their names in it, such as "corespace/run1/core"."""

    def __init__(self, bundle: Path) -> None:
        self.bundle = bundle

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return the content of a file, inflated to `max_bytes` bytes at most."""
        blocks: list[bytes] = []
        with self.open_file(name) as file, self.reading(name):
            stored_size = os.fstat(file.fileno()).st_size
            max_bytes = min(max_bytes, most_inflated(stored_size))
            remaining_bytes = max_bytes
            for block in inflate(file):
                remaining_bytes -= len(block)
                if remaining_bytes < 0:
                    raise ArchiveError(f"holds more than {max_bytes:,} bytes")
                blocks.append(block)
        return b"".join(blocks)

    def open_file(self, name: str) -> BinaryIO:
        """Open a file as it is; raise BundleError if it is not there, or not a plain file."""
        self._refuse_links(name)
        try:
            return files.open_input(self.bundle / name)
        except InputError as error:
            raise self.make_damage_error(name, "cannot be read") from error

    def exists(self, name: str) -> bool:
        """Return whether there is such a file or folder; a link counts, and is refused later."""
        return (self.bundle / name).exists()

    def size(self, name: str) -> int:
        """Return the stored size of a file in bytes; raise BundleError if it is not there."""
        self._refuse_links(name)
        try:
            return (self.bundle / name).stat().st_size
        except OSError as error:
            raise self.make_damage_error(name, "is missing") from error

    def list_numbers(self, folder: str, prefix: str) -> list[int]:
        """Return the numbers that follow a prefix in the names of a folder, in order."""
        self._refuse_links(folder)
        try:
            folder_path = self.bundle / folder
            names = [path.name for path in folder_path.iterdir()]
        except OSError as error:
            raise self.make_damage_error(folder, "is missing") from error
        tails = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        numbers = [int(tail) for tail in tails if _NUMBERED.fullmatch(tail)]
        return sorted(numbers)

    def make_damage_error(self, name: str, fault: str) -> BundleError:
        """Return the error of a damaged file; `fault` completes the sentence about it."""
        return BundleError(f"{name_bundle(self.bundle)}: {name} {fault}.", hint=WAY_OUT)

    @contextmanager
    def reading(self, name: str) -> Generator[None]:
        """Make a BundleError of each error about the content of a file."""
        try:
            yield
        except ArchiveError as error:
            raise self.make_damage_error(name, str(error)) from error
        except (zlib.error, EOFError) as error:
            raise self.make_damage_error(name, f"cannot be inflated ({error})") from error
        except OSError as error:
            raise self.make_damage_error(name, f"cannot be read ({error.strerror})") from error

    def _refuse_links(self, name: str) -> None:
        place = os.fspath(self.bundle)
        for part in PurePosixPath(name).parts:
            place = os.path.join(place, part)  # noqa: PTH118  a third of the time of Path
            try:
                mode = os.lstat(place).st_mode
            except OSError as error:
                raise self.make_damage_error(name, "is missing") from error
            if stat.S_ISLNK(mode):
                raise self.make_damage_error(name, "is reached by a link, which no bundle has")


def most_inflated(size: int) -> int:
    """Return the most bytes that a file of a bundle may inflate to, from its stored size."""
    return _FREE + _RATIO * size


def inflate(file: BinaryIO, block: int = _BLOCK) -> Iterator[bytes]:
    """Yield the content of a file in blocks of no more than 16 times `block` bytes.

    Every turn of the loop reads a part of the file or yields a part of its content, so that no
    stream goes on forever. The checksum at its end is verified, and nothing may follow it.
    """
    data = file.read(block)
    if data[:1] != _ZLIB:
        while data:
            yield data
            data = file.read(block)
        return
    stream = zlib.decompressobj()
    while data and not stream.eof:
        content = stream.decompress(data, block * _INFLATED)
        pending_bytes = stream.unconsumed_tail
        if not content and len(pending_bytes) == len(data):
            raise zlib.error("it does not go on")
        yield content
        data = pending_bytes or file.read(block)
    if not stream.eof:
        raise EOFError("it ends too early")
    if data or stream.unused_data:
        raise EOFError("bytes follow its end")
