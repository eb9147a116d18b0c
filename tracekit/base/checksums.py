"""Checksums of a run's files, noted when a stage ends, that reveal later changes.

Only files that changed while the stage ran are noted: a file that another program changed keeps its
checksum. The cache of tables is left out, as any reader may change it, unless the exports that it
was made from were pruned. A bundle that the run has a link to is part of it.
"""

import logging
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b, file_digest
from pathlib import Path
from stat import S_ISREG

import msgspec

from tracekit.base.documents import decode_json
from tracekit.base.errors import InputError, TracekitError
from tracekit.base.files import legible, read_input, replacing

CHECKSUMS = "checksums.json"
_FORMAT = 1
_CACHE = "tables"
_PRUNED = Path("exports") / "pruned.json"
_LARGE = 1 << 26  # bytes from which several threads are worth their start
_THREADS = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checksum:
    """Size in bytes and BLAKE2b digest of a file, and the stage that wrote it."""

    size: int
    digest: str
    stage: str


@dataclass(frozen=True)
class _ChecksumNote:
    files: dict[str, Checksum] = field(default_factory=dict[str, Checksum])
    format: int = _FORMAT


@dataclass(frozen=True)
class _FileStamp:
    path: str
    size: int
    changed: int  # ns


@dataclass(frozen=True)
class ChecksumComparison:
    """A run's files compared with their checksums: `size` is that of all noted files, in bytes.

    `faults` are sentences; `unnoted` are files that have no checksum.
    """

    intact_count: int
    size: int
    faults: tuple[str, ...]
    unnoted: tuple[str, ...]


@contextmanager
def noting(folder: Path, stage: str, *, begin: bool = True) -> Generator[None]:
    """Note the checksums of files that change in a run's folder within the block, however it ends.

    Unless `begin`, a run that has no checksums gets none. If they cannot be written, a warning is
    logged: no command depends on them.
    """
    if not begin and not (folder / CHECKSUMS).exists():
        yield
        return
    stamps_before = _look(folder)
    try:
        yield
    finally:
        try:
            _note(folder, stage, stamps_before)
        except (TracekitError, OSError) as error:
            _log.warning("The checksums of %s are not kept: %s", folder, error)


def compare_checksums(folder: Path, *, pruned: bool = False) -> ChecksumComparison | None:
    """Compare a run's files with their checksums; None if none were kept.

    `pruned` if bundles or exports were removed to make room; those are not missing.
    """
    checksums = _read_checksums(folder)
    if checksums is None:
        return None
    stamps = _look(folder)
    noted_stamps = {name: stamps[name] for name in checksums if name in stamps}
    digests = dict(_digests(noted_stamps.items()))
    intact_count = 0
    faults: list[str] = []
    for name, checksum in checksums.items():
        if pruned and name not in stamps and not _top(folder, name).exists():
            continue
        digest = digests.get(name)
        fault = _fault(name, checksum, stamps.get(name), digest)
        if fault:
            faults.append(fault)
        else:
            intact_count += 1
    size = sum(stamp.size for stamp in noted_stamps.values())
    unnoted = [name for name in stamps if name not in checksums]
    return ChecksumComparison(intact_count, size, tuple(faults), tuple(unnoted))


def _fault(name: str, checksum: Checksum, stamp: _FileStamp | None, digest: str | None) -> str:
    if stamp is None:
        return f"{name} is missing."
    if stamp.size != checksum.size:
        return (
            f"{name} has {stamp.size:,} bytes; the stage {checksum.stage} left {checksum.size:,}."
        )
    if digest is None:
        return f"{name} cannot be read."
    if digest != checksum.digest:
        return f"{name} is not as the stage {checksum.stage} left it."
    return ""


def _top(folder: Path, name: str) -> Path:
    """Return the file or folder of a run that contains a file: of exports, the one in them."""
    parts = name.split("/")
    if parts[0] == "exports":
        return folder.joinpath(*parts[:2])
    return folder / parts[0]


def _look(folder: Path) -> dict[str, _FileStamp]:
    """Return the files of a run that have checksums, by their names in it."""
    stamps: dict[str, _FileStamp] = {}
    for name, path in _files(folder):
        try:
            there = os.stat(path)  # noqa: PTH116  path objects of hundreds of files take longer
        except OSError:
            continue
        if S_ISREG(there.st_mode):
            stamps[legible(name)] = _FileStamp(path, there.st_size, there.st_mtime_ns)
    return dict(sorted(stamps.items()))


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name in the run, and the path, of each file that has a checksum."""
    is_pruned = (folder / _PRUNED).exists()
    for top in _entries(folder):
        if top.name == CHECKSUMS or (top.name == _CACHE and not is_pruned):
            continue
        if not top.is_dir():
            yield top.name, str(top)
        # Of links only those in the run's folder are followed: to a bundle, never in circles.
        beginning = len(str(top))
        for place, folders, names in os.walk(str(top)):
            folders[:] = [name for name in folders if not name.startswith(".")]
            folder_name = f"{top.name}{place[beginning:]}".replace(os.sep, "/")
            for name in names:
                if not name.startswith("."):
                    yield f"{folder_name}/{name}", f"{place}{os.sep}{name}"


def _entries(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError:
        return []


def _note(folder: Path, stage: str, stamps_before: Mapping[str, _FileStamp]) -> None:
    stamps_after = _look(folder)
    changed = {
        name: stamp for name, stamp in stamps_after.items() if stamps_before.get(name) != stamp
    }
    removed_names = stamps_before.keys() - stamps_after.keys()
    if (not changed and not removed_names) or not folder.is_dir():
        return
    checksums = dict(_read_checksums(folder) or {})
    for name in removed_names:
        checksums.pop(name, None)
    for name, digest in _digests(changed.items()):
        if digest is not None:
            size = changed[name].size
            checksums[name] = Checksum(size, digest, stage)
    note = _ChecksumNote(dict(sorted(checksums.items())))
    with replacing(folder / CHECKSUMS) as file:
        content = msgspec.json.encode(note)
        formatted = msgspec.json.format(content, indent=1)
        file.write(formatted + b"\n")


def _read_checksums(folder: Path) -> dict[str, Checksum] | None:
    """Return the checksums that were noted; None if there are none."""
    path = folder / CHECKSUMS
    try:
        note = decode_json(read_input(path), _ChecksumNote)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if note.format > _FORMAT:
        raise InputError(
            f"{path} has format {note.format}; this tracekit reads up to {_FORMAT}.",
            hint="Use the tracekit that wrote it, or a newer one.",
        )
    return note.files


def _digests(files: Iterable[tuple[str, _FileStamp]]) -> Iterator[tuple[str, str | None]]:
    """Yield the digest of each file by its name; None for one that cannot be read."""
    stamps = dict(files)
    names = list(stamps)
    paths = [stamp.path for stamp in stamps.values()]
    total_size = sum(stamp.size for stamp in stamps.values())
    if total_size < _LARGE:
        yield from zip(names, map(_digest, paths), strict=True)
        return
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="checksums") as pool:
        yield from zip(names, pool.map(_digest, paths), strict=True)


def _digest(path: str) -> str | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  as in `_look`
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    except OSError:
        return None
