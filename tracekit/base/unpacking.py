"""A bundle out of a zip file: nothing lands outside its folder, nothing grows without a bound.

What a zip file says of itself is not believed: names that lead elsewhere, links and encrypted
members are refused, and of a member no more is written than it says that it holds.
"""

import errno
import lzma
import shutil
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import making, open_input, remedy

SUFFIX = ".zip"
_MARKS = frozenset({"corespace", "open.creq", "form.template"})
_MOST_MEMBERS = 200_000
_MOST_BYTES = 1 << 37
_ANY_RATIO = 1 << 28  # bytes up to which it does not matter how well they were packed
_MOST_RATIO = 100  # of what bundles hold, most is deflated already
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, ValueError),
)
# A file stands in the place of a folder, or the other way round: two members contradict.
_CONTRADICTIONS = frozenset({errno.EEXIST, errno.EISDIR, errno.ENOTDIR})
_ENCRYPTED = 1
_LONGEST = 200  # letters of a name that is shown
_UTF8 = 1 << 11


def unpack_bundle(archive: Path, folder: Path) -> tuple[str, ...]:
    """Unpack the only bundle of a zip file into a folder, whole or not at all.

    Return the names of the files beside the bundle, which are left out; what macOS adds to a zip
    file does not count. Raise InputError where the file is no zip file, damaged or hostile, or
    holds no or several bundles, RecordingError where there is no room for it, or the folder is
    taken or cannot be written.
    """
    with open_input(archive) as content:
        try:
            with zipfile.ZipFile(content) as file:
                members, other_files = _members(archive, file)
                with making(folder) as temporary:
                    _require_room(temporary, sum(member.file_size for member in members))
                    _extract(archive, file, members, temporary)
        except _DAMAGE as error:
            raise _make_damage_error(archive, error) from error
        except OSError as error:
            if error.errno is None:  # the reader of bzip2 says so that its data are damaged
                raise _make_damage_error(archive, error) from error
            raise RecordingError(
                f"{archive.name} cannot be unpacked into {folder}: {error.strerror}.",
                hint=remedy(error, "--output"),
            ) from error
    return other_files


def _make_damage_error(archive: Path, error: Exception) -> InputError:
    return InputError(
        f"{archive} is no zip file that can be read: {error}.",
        hint="Pack the bundle again, or copy the file again.",
    )


def _extract(
    archive: Path, file: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], folder: Path
) -> None:
    for member in members:
        try:
            file.extract(member, folder)
        except OSError as error:
            if error.errno in _CONTRADICTIONS:
                raise InputError(
                    f"{archive} was not unpacked: {member.filename[:_LONGEST]!r} is a file and a "
                    "folder in it.",
                    hint="Pack the bundle again.",
                ) from error
            raise


def _members(archive: Path, file: zipfile.ZipFile) -> tuple[list[zipfile.ZipInfo], tuple[str, ...]]:
    """Return what the bundle holds, by its names in the bundle, and the names of other files."""
    all_members = file.infolist()
    size = sum(member.file_size for member in all_members)
    inflated = size > _ANY_RATIO and size > _MOST_RATIO * archive.stat().st_size
    if len(all_members) > _MOST_MEMBERS or size > _MOST_BYTES or inflated:
        raise InputError(f"{archive} holds more than any bundle; it was not unpacked.")
    for member in all_members:
        member.filename = _name(member)
    _refuse(archive, all_members, _misleading)
    name_counts = Counter(str(PurePosixPath(member.filename)).casefold() for member in all_members)
    if twice := [name for name, number in name_counts.items() if number > 1]:
        raise InputError(f"{archive} was not unpacked: it holds {twice[0][:_LONGEST]!r} twice.")
    root = _root(archive, [PurePosixPath(member.filename) for member in all_members])
    bundle_members = [
        member for member in all_members if root in PurePosixPath(member.filename).parents
    ]
    _refuse(archive, bundle_members, _unwelcome)
    names = {member.filename for member in bundle_members}
    files = [member.filename for member in all_members if not member.is_dir()]
    other_files = tuple(name for name in files if name not in names and not _is_of_macos(name))
    for member in bundle_members:
        ending = "/" if member.is_dir() else ""
        member.filename = f"{PurePosixPath(member.filename).relative_to(root)}{ending}"
    return bundle_members, other_files


def _name(member: zipfile.ZipInfo) -> str:
    """Return a name as text: macOS writes UTF-8, and does not always say so."""
    if member.flag_bits & _UTF8:
        return member.filename
    try:
        return member.filename.encode("cp437").decode()
    except UnicodeError:
        return member.filename


def _is_of_macos(name: str) -> bool:
    """Tell whether a file is one that macOS adds to what it packs."""
    path = PurePosixPath(name)
    return "__MACOSX" in path.parts or path.name == ".DS_Store" or path.name.startswith("._")


def _refuse(
    archive: Path, members: Iterable[zipfile.ZipInfo], fault: Callable[[zipfile.ZipInfo], str]
) -> None:
    """Raise InputError for the first member that has a fault."""
    for member in members:
        if fault_text := fault(member):
            raise InputError(
                f"{archive} was not unpacked: {member.filename[:_LONGEST]!r} {fault_text}.",
                hint="Unpack it by hand if you trust it, and import the bundle.",
            )


def _misleading(member: zipfile.ZipInfo) -> str:
    """Say why a name is not taken for a place below the zip file's folder; nothing if it is."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts:
        return "leads out of its folder"
    return "has a backslash in its name" if "\\" in member.filename else ""


def _unwelcome(member: zipfile.ZipInfo) -> str:
    """Say why the content of a member is not unpacked; nothing if it is."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "is a link or a device"
    return "is encrypted" if member.flag_bits & _ENCRYPTED else ""


def _root(archive: Path, paths: Sequence[PurePosixPath]) -> PurePosixPath:
    roots = {
        PurePosixPath(*path.parts[:depth])
        for path in paths
        for depth, part in enumerate(path.parts)
        if part in _MARKS and "__MACOSX" not in path.parts
    }
    outer = [root for root in roots if not any(other_root in root.parents for other_root in roots)]
    if len(outer) != 1:
        description = f"{len(outer)} bundles: {some_of(map(str, outer))}" if outer else "no bundle"
        raise InputError(
            f"{archive} holds {description}.",
            hint="Pack one RECORDING.trace into a file, or unpack it and name the bundles.",
        )
    return outer[0]


def some_of(names: Iterable[str], max_names: int = 5) -> str:
    """Return the first few of some names, and how many more there are."""
    sorted_names = sorted(name[:_LONGEST] for name in names)
    more = len(sorted_names) - max_names
    return ", ".join(sorted_names[:max_names]) + (f" and {more:,} more" if more > 0 else "")


def _require_room(folder: Path, size: int) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if size > free_bytes:
        raise RecordingError(
            f"Unpacked, the bundle takes {size / 1e9:.1f} GB, and {free_bytes / 1e9:.1f} GB are "
            "free.",
            hint="Make room, or name a folder on another disk with --output.",
        )
