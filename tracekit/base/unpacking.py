"""Unpack a recording from a zip file: nothing lands outside its folder, and its size is bounded.

The zip file is not trusted: names that lead elsewhere, links and encrypted members are refused, and
no member may be larger than its header says.
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
from typing import Literal

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import making, open_input, remedy

SUFFIX = ".zip"
_MARKS = frozenset({"corespace", "open.creq", "form.template"})
_RUN_MARK = "recording.json"
_CAPTURE_MARKS = frozenset({"index", "store0", "metadata"})
"""Files that are in the folder of every GPU frame capture, next to each other."""
_MOST_MEMBERS = 200_000
_MOST_BYTES = 1 << 37
_ANY_RATIO = 1 << 28  # bytes up to which it does not matter how well they were packed
_MOST_RATIO = 100  # most of a bundle is deflated already
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, ValueError),
)
# A file is in the place of a folder, or the other way round: two members contradict.
_CONTRADICTIONS = frozenset({errno.EEXIST, errno.EISDIR, errno.ENOTDIR})
_ENCRYPTED = 1
_LONGEST = 200  # letters of a name that is shown
_UTF8 = 1 << 11


Content = Literal["run", "bundle", "capture", "files"]


def find_content(archive: Path) -> Content:
    """Return the kind of recording that a zip file holds.

    That is a run, a bundle, a GPU frame capture, or other files. A run may contain a bundle. Raise
    InputError if the file is not a zip file, or is damaged.
    """
    with open_input(archive) as content:
        try:
            with zipfile.ZipFile(content) as file:
                paths = [PurePosixPath(_name(member)) for member in file.infolist()]
        except _DAMAGE as error:
            raise _make_damage_error(archive, error) from error
    if _find_runs(paths):
        return "run"
    if _find_bundles(paths):
        return "bundle"
    if _find_captures(paths):
        return "capture"
    return "files"


def unpack_bundle(archive: Path, folder: Path) -> tuple[str, ...]:
    """Unpack the only bundle of a zip file into a folder, whole or not at all.

    Return the names of the files next to the bundle, which are left out, except those that macOS
    adds to a zip file.

    Raises:
        InputError: The file is not a zip file, is damaged or hostile, or does not contain exactly
            one bundle.
        RecordingError: There is no room for it, or the folder is taken or cannot be written.
    """
    return _unpack(archive, folder, _root)


def unpack_run(archive: Path, folder: Path) -> tuple[str, ...]:
    """Unpack the only run of a zip file into a folder, as `unpack_bundle` does with a bundle."""
    return _unpack(archive, folder, _root_of_run)


def unpack_capture(archive: Path, folder: Path) -> tuple[str, ...]:
    """Unpack the only GPU frame capture of a zip file, as `unpack_bundle` does with a bundle.

    Metal links contents that are equal: a link to a file next to it becomes a copy of this.
    """
    return _unpack(archive, folder, _root_of_capture, follows_links=True)


def unpack_files(archive: Path, folder: Path) -> None:
    """Unpack all files of a zip file into a folder, as `unpack_bundle` does with a bundle."""
    _unpack(archive, folder, _whole)


FindRoot = Callable[[Path, Sequence[PurePosixPath]], PurePosixPath]


def _unpack(
    archive: Path, folder: Path, find_root: FindRoot, *, follows_links: bool = False
) -> tuple[str, ...]:
    with open_input(archive) as content:
        try:
            with zipfile.ZipFile(content) as file:
                members, other_files = _members(archive, file, find_root, follows_links)
                with making(folder) as temporary:
                    _require_room(temporary, sum(member.file_size for member in members))
                    links = [member for member in members if _is_link(member)]
                    plain = [member for member in members if not _is_link(member)]
                    _extract(archive, file, plain, temporary)
                    _copy_linked(archive, file, links, temporary)
        except _DAMAGE as error:
            raise _make_damage_error(archive, error) from error
        except OSError as error:
            if error.errno is None:  # so the reader of bzip2 reports damaged data
                raise _make_damage_error(archive, error) from error
            raise RecordingError(
                f"{archive.name} cannot be unpacked into {folder}: {error.strerror}.",
                hint=remedy(error, "--output"),
            ) from error
    return other_files


def _make_damage_error(archive: Path, error: Exception) -> InputError:
    return InputError(
        f"{archive} is not a readable zip file: {error}.",
        hint="Pack the bundle again, or copy the file again.",
    )


def _extract(
    archive: Path, file: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], folder: Path
) -> None:
    for member in members:
        try:
            file.extract(member, folder)
        except OSError as error:
            if error.errno not in _CONTRADICTIONS:
                raise
            raise InputError(
                f"{archive} was not unpacked: {member.filename[:_LONGEST]!r} is a file and a "
                "folder in it.",
                hint="Pack the bundle again.",
            ) from error


def _is_link(member: zipfile.ZipInfo) -> bool:
    return stat.S_IFMT(member.external_attr >> 16) == stat.S_IFLNK


def _copy_linked(
    archive: Path, file: zipfile.ZipFile, links: Sequence[zipfile.ZipInfo], folder: Path
) -> None:
    """Replace each link by a copy of the unpacked file next to it."""
    for member in links:
        target = b""
        if member.file_size <= _LONGEST:
            target = file.read(member)
        path = folder / member.filename
        source = path.parent / target.decode(errors="replace")
        if source.parent != path.parent or not source.is_file() or source.is_symlink():
            raise InputError(
                f"{archive} was not unpacked: {member.filename[:_LONGEST]!r} is a link to another "
                "place.",
                hint="Pack the capture again.",
            )
        shutil.copyfile(source, path)


def _members(
    archive: Path, file: zipfile.ZipFile, find_root: FindRoot, follows_links: bool
) -> tuple[list[zipfile.ZipInfo], tuple[str, ...]]:
    """Return the members below the root, by their names there, and the names of other files."""
    all_members = file.infolist()
    _require_plausible_size(archive, all_members)
    for member in all_members:
        member.filename = _name(member)
    _refuse(archive, all_members, _misleading)
    paths = [PurePosixPath(member.filename) for member in all_members]
    _require_distinct(archive, paths)
    root = find_root(archive, paths)
    wanted_members: list[zipfile.ZipInfo] = []
    other_files: list[str] = []
    for member, path in zip(all_members, paths, strict=True):
        if root in path.parents and not _is_of_macos(path):
            wanted_members.append(member)
        elif not member.is_dir() and not _is_of_macos(path):
            other_files.append(member.filename)
    suspects = wanted_members
    if follows_links:
        suspects = [member for member in wanted_members if not _is_link(member)]
    _refuse(archive, suspects, _unwelcome)
    for member in wanted_members:
        ending = "/" if member.is_dir() else ""
        path_in_bundle = PurePosixPath(member.filename).relative_to(root)
        member.filename = f"{path_in_bundle}{ending}"
    return wanted_members, tuple(other_files)


def _require_plausible_size(archive: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    """Raise InputError for more members or bytes than any bundle has."""
    size = sum(member.file_size for member in members)
    inflated = size > _ANY_RATIO and size > _MOST_RATIO * archive.stat().st_size
    if len(members) > _MOST_MEMBERS or size > _MOST_BYTES or inflated:
        raise InputError(f"{archive} holds more than any bundle; it was not unpacked.")


def _require_distinct(archive: Path, paths: Sequence[PurePosixPath]) -> None:
    """Raise InputError for a name that two members have, on file systems that ignore case too."""
    folded_paths = [str(path).casefold() for path in paths]
    name_counts = Counter(folded_paths)
    for name, number in name_counts.items():
        if number > 1:
            raise InputError(f"{archive} was not unpacked: it holds {name[:_LONGEST]!r} twice.")


def _name(member: zipfile.ZipInfo) -> str:
    """Return a name as text: macOS writes UTF-8, but does not always set its flag."""
    if member.flag_bits & _UTF8:
        return member.filename
    try:
        return member.filename.encode("cp437").decode()
    except UnicodeError:
        return member.filename


def _is_of_macos(path: PurePosixPath) -> bool:
    """Tell whether a file is one that macOS adds to a zip file."""
    return "__MACOSX" in path.parts or path.name == ".DS_Store" or path.name.startswith("._")


def _refuse(
    archive: Path, members: Iterable[zipfile.ZipInfo], fault: Callable[[zipfile.ZipInfo], str]
) -> None:
    """Raise InputError for the first member that has a fault."""
    for member in members:
        fault_text = fault(member)
        if fault_text:
            raise InputError(
                f"{archive} was not unpacked: {member.filename[:_LONGEST]!r} {fault_text}.",
                hint="Unpack it by hand if you trust it, and import the bundle.",
            )


def _misleading(member: zipfile.ZipInfo) -> str:
    """Return the fault of a name that may not be a place below the zip file's folder, or ""."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts:
        return "leads out of its folder"
    if "\\" in member.filename:
        return "has a backslash in its name"
    return ""


def _unwelcome(member: zipfile.ZipInfo) -> str:
    """Return the fault of a member whose content is not unpacked, or ""."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "is a link or a device"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return ""


def _root(archive: Path, paths: Sequence[PurePosixPath]) -> PurePosixPath:
    """Return the folder of the only bundle; raise InputError if there is none, or several."""
    return _only_root(archive, _find_bundles(paths), "bundle", "Pack one RECORDING.trace")


def _root_of_run(archive: Path, paths: Sequence[PurePosixPath]) -> PurePosixPath:
    """Return the folder of the only run; raise InputError if there is none, or several."""
    return _only_root(archive, _find_runs(paths), "run", "Pack the folder of one run")


def _root_of_capture(archive: Path, paths: Sequence[PurePosixPath]) -> PurePosixPath:
    """Return the folder of the only capture; raise InputError if there is none, or several."""
    remedy = "Pack the folder of one capture"
    return _only_root(archive, _find_captures(paths), "capture", remedy)


def _whole(_: Path, __: Sequence[PurePosixPath]) -> PurePosixPath:
    return PurePosixPath()


def _only_root(
    archive: Path, roots: Sequence[PurePosixPath], kind: str, remedy: str
) -> PurePosixPath:
    if len(roots) == 1:
        return roots[0]
    description = f"no {kind}"
    if roots:
        description = f"{len(roots)} {kind}s: {some_of(map(str, roots))}"
    raise InputError(
        f"{archive} holds {description}.",
        hint=f"{remedy} into a file, or unpack it and name the {kind}s.",
    )


def _find_bundles(paths: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Return the folders of bundles that are in no other bundle."""
    roots: set[PurePosixPath] = set()
    for path in paths:
        if "__MACOSX" in path.parts:
            continue
        for depth, part in enumerate(path.parts):
            if part in _MARKS:
                roots.add(PurePosixPath(*path.parts[:depth]))
    return [root for root in roots if roots.isdisjoint(root.parents)]


def _find_captures(paths: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Return the folders of GPU frame captures."""
    names_by_folder: dict[PurePosixPath, set[str]] = {}
    for path in paths:
        if not _is_of_macos(path):
            names_by_folder.setdefault(path.parent, set()).add(path.name)
    return [folder for folder, names in names_by_folder.items() if names >= _CAPTURE_MARKS]


def _find_runs(paths: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Return the folders of runs, each once."""
    roots = [path.parent for path in paths if path.name == _RUN_MARK and not _is_of_macos(path)]
    return list(dict.fromkeys(roots))


def some_of(names: Iterable[str], max_names: int = 5) -> str:
    """Return the first few names in order, and the number of the others."""
    sorted_names = sorted(name[:_LONGEST] for name in names)
    words = ", ".join(sorted_names[:max_names])
    more = len(sorted_names) - max_names
    if more > 0:
        words += f" and {more:,} more"
    return words


def _require_room(folder: Path, size: int) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if size > free_bytes:
        raise RecordingError(
            f"Unpacked, the bundle takes {size / 1e9:.1f} GB, and {free_bytes / 1e9:.1f} GB are "
            "free.",
            hint="Make room, or name a folder on another disk with --output.",
        )
