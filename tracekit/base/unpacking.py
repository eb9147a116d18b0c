"""A bundle out of a zip file: nothing lands outside its folder, nothing grows without a bound.

What a zip file says of itself is not believed: names that lead elsewhere, links and encrypted
members are refused, and of a member no more is written than it says that it holds.
"""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import open_input

SUFFIX = ".zip"
_MARKS = frozenset({"corespace", "open.creq", "form.template"})
_MOST_MEMBERS = 200_000
_MOST_BYTES = 1 << 37
_ANY_RATIO = 1 << 28  # bytes up to which it does not matter how well they were packed
_MOST_RATIO = 100  # of what bundles hold, most is deflated already
_FAILURES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def unpack_bundle(archive: Path, folder: Path) -> None:
    """Unpack the only bundle of a zip file into a folder that is not there yet.

    Raise InputError where the file is no zip file, damaged or hostile, or holds no or several
    bundles, RecordingError where there is no room for it, or the folder cannot be written.
    """
    with open_input(archive) as content:
        try:
            with zipfile.ZipFile(content) as file:
                members = _members(archive, file)
                folder.mkdir()
                _require_room(folder, sum(member.file_size for member in members))
                for member in members:
                    file.extract(member, folder)
        except _FAILURES as error:
            raise InputError(
                f"{archive} is no zip file that can be read: {error}.",
                hint="Pack the bundle again, or copy the file again.",
            ) from error
        except OSError as error:
            raise RecordingError(
                f"{archive.name} cannot be unpacked into {folder}: {error.strerror}.",
                hint="Make room, or name another folder with --output.",
            ) from error


def _members(archive: Path, file: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of the bundle, by their names in it."""
    found = file.infolist()
    size = sum(member.file_size for member in found)
    inflated = size > _ANY_RATIO and size > _MOST_RATIO * archive.stat().st_size
    if len(found) > _MOST_MEMBERS or size > _MOST_BYTES or inflated:
        raise InputError(f"{archive} holds more than any bundle; it was not unpacked.")
    if hostile := next(filter(_is_hostile, found), None):
        raise InputError(
            f"{archive} was not unpacked: {hostile.filename[:200]!r} leads out of its folder, is a "
            "link or a device, or is encrypted.",
            hint="Unpack it by hand if you trust it, and import the bundle.",
        )
    if len({str(PurePosixPath(member.filename)).casefold() for member in found}) < len(found):
        raise InputError(f"{archive} was not unpacked: it holds a file twice.")
    root = _root(archive, [PurePosixPath(member.filename) for member in found])
    files = [member for member in found if not member.is_dir()]
    inside = [member for member in files if root in PurePosixPath(member.filename).parents]
    for member in inside:
        member.filename = PurePosixPath(member.filename).relative_to(root).as_posix()
    return inside


def _is_hostile(member: zipfile.ZipInfo) -> bool:
    path, kind = PurePosixPath(member.filename), stat.S_IFMT(member.external_attr >> 16)
    outside = path.is_absolute() or ".." in path.parts or "\\" in member.filename
    return outside or kind not in {0, stat.S_IFREG, stat.S_IFDIR} or bool(member.flag_bits & 1)


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


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise RecordingError(
            f"Unpacked, the bundle takes {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free.",
            hint="Make room, or name a folder on another disk with --output.",
        )
