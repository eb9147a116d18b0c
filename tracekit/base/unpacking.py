"""A bundle out of a zip file: nothing lands outside its folder, nothing grows without a bound.

What a zip file says of itself is not believed: names that lead elsewhere, links and encrypted
members are refused, and what is written is counted while it is written.
"""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import open_input

SUFFIX = ".zip"
_MARKS = frozenset({"corespace", "open.creq", "form.template"})
_MOST_MEMBERS = 200_000
_MOST_BYTES = 1 << 37
_ANY_RATIO = 1 << 28  # bytes up to which it does not matter how well they were packed
_MOST_RATIO = 100  # of what bundles hold, most is deflated already
_BLOCK = 1 << 20
_FAILURES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def unpack_bundle(archive: Path, folder: Path) -> None:
    """Unpack the only bundle of a zip file into a folder that is not there yet.

    Raises:
        InputError: The file is no zip file, damaged or hostile, or holds no or several bundles.
        RecordingError: There is no room for it, or the folder cannot be written.
    """
    with _opened(archive) as file:
        members = _members(archive, file)
        try:
            folder.mkdir()
            _require_room(folder, sum(one.file_size for one, _ in members))
            for one, name in members:
                _unpack(archive, file, one, folder / name)
        except OSError as error:
            raise RecordingError(
                f"{archive.name} cannot be unpacked into {folder}: {error.strerror}.",
                hint="Make room, or name another folder with --output.",
            ) from error


@contextmanager
def _opened(archive: Path) -> Generator[zipfile.ZipFile]:
    with open_input(archive) as content:
        try:
            with zipfile.ZipFile(content) as file:
                yield file
        except _FAILURES as error:
            raise InputError(
                f"{archive} is no zip file that can be read: {error}.",
                hint="Pack the bundle again, or copy the file again.",
            ) from error


def _members(archive: Path, file: zipfile.ZipFile) -> list[tuple[zipfile.ZipInfo, str]]:
    """Return the files of the bundle and their names in it."""
    found = file.infolist()
    size = sum(one.file_size for one in found)
    inflated = size > _ANY_RATIO and size > _MOST_RATIO * archive.stat().st_size
    if len(found) > _MOST_MEMBERS or size > _MOST_BYTES or inflated:
        raise InputError(f"{archive} holds more than any bundle; it was not unpacked.")
    for one in found:
        _require_plain(archive, one)
    root = _root(archive, [PurePosixPath(one.filename) for one in found])
    if len({one.filename for one in found}) < len(found):
        raise InputError(f"{archive} was not unpacked: it holds a file twice.")
    within = ((one, PurePosixPath(one.filename)) for one in found if not one.is_dir())
    return [
        (one, path.relative_to(root).as_posix()) for one, path in within if root in path.parents
    ]


def _root(archive: Path, paths: Sequence[PurePosixPath]) -> PurePosixPath:
    roots = {
        PurePosixPath(*path.parts[:depth])
        for path in paths
        for depth, part in enumerate(path.parts)
        if part in _MARKS and "__MACOSX" not in path.parts
    }
    outer = [root for root in roots if not any(other in root.parents for other in roots)]
    if len(outer) != 1:
        found = f"{len(outer)} bundles" if outer else "no bundle"
        raise InputError(
            f"{archive} holds {found}.",
            hint="Pack one RECORDING.trace into a file, or unpack it and name the bundles.",
        )
    return outer[0]


def _require_plain(archive: Path, info: zipfile.ZipInfo) -> None:
    path = PurePosixPath(info.filename)
    kind = stat.S_IFMT(info.external_attr >> 16)
    reason = ""
    if path.is_absolute() or ".." in path.parts or "\\" in info.filename or "\0" in info.filename:
        reason = "leads out of its folder"
    elif kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        reason = "is a link or a device, which no bundle has"
    elif info.flag_bits & 1:
        reason = "is encrypted"
    if reason:
        raise InputError(
            f"{archive} was not unpacked: {info.filename[:200]!r} {reason}.",
            hint="Unpack it by hand if you trust it, and import the bundle.",
        )


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise RecordingError(
            f"Unpacked, the bundle takes {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free.",
            hint="Make room, or name a folder on another disk with --output.",
        )


def _unpack(archive: Path, file: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    left = info.file_size
    with file.open(info) as source, target.open("xb") as written:
        while block := source.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise InputError(f"{archive} is damaged: {info.filename[:200]!r} is too long.")
            written.write(block)
