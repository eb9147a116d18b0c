"""Checksums of a run's files, noted when a stage ends, by which a later change is found.

Only what changed while the stage ran is noted: a file that somebody else changed keeps the checksum
that it had. The cache of tables is left out, as any reader may change it, unless the exports that
it was made of were pruned. A bundle that the run has a link to counts as part of it.
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
    """Size in bytes and BLAKE2b digest of a file, and the stage that left it so."""

    size: int
    digest: str
    stage: str


@dataclass(frozen=True)
class _ChecksumNote:
    files: dict[str, Checksum] = field(default_factory=dict[str, Checksum])
    format: int = _FORMAT


@dataclass(frozen=True)
class _FileStamp:
    path: Path
    size: int
    changed: int  # ns


@dataclass(frozen=True)
class ChecksumComparison:
    """Files of a run held against their checksums: how many agree, what is wrong, what is new.

    `faults` are sentences; `unnoted` are files that have no checksum.
    """

    intact_count: int
    size: int
    faults: tuple[str, ...]
    unnoted: tuple[str, ...]


@contextmanager
def noting(folder: Path, stage: str, *, begin: bool = True) -> Generator[None]:
    """Note the checksums of what changes in a run's folder within the block, however it ends.

    Unless `begin`, a run that has no checksums gets none. That they cannot be written is only a
    warning: nothing that was asked for depends on them.
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
    """Hold a run's files against their checksums; None where none were kept.

    `pruned` says that bundles or exports were removed to make room; those are not missing.
    """
    checksums = _read_checksums(folder)
    if checksums is None:
        return None
    stamps = _look(folder)
    expected = {
        name: checksum
        for name, checksum in checksums.items()
        if not (pruned and name not in stamps and not _top(folder, name).exists())
    }
    there = {name: stamps[name] for name in expected if name in stamps}
    digests = dict(_digests(there.items()))
    faults = [
        fault
        for name, checksum in expected.items()
        if (fault := _fault(name, checksum, stamps.get(name), digests.get(name)))
    ]
    sizes = sum(stamp.size for stamp in there.values())
    unnoted = tuple(name for name in stamps if name not in checksums)
    return ChecksumComparison(len(expected) - len(faults), sizes, tuple(faults), unnoted)


def _fault(name: str, checksum: Checksum, stamp: _FileStamp | None, digest: str | None) -> str:
    if stamp is None:
        return f"{name} is missing."
    if stamp.size != checksum.size:
        return (
            f"{name} has {stamp.size:,} bytes; the stage {checksum.stage} left {checksum.size:,}."
        )
    if digest is None:
        return f"{name} cannot be read."
    changed = digest != checksum.digest
    return f"{name} is not as the stage {checksum.stage} left it." if changed else ""


def _top(folder: Path, name: str) -> Path:
    """Return the file or folder of a run's folder that a file lies in."""
    parts = name.split("/")
    return folder.joinpath(*parts[:2]) if parts[0] == "exports" else folder / parts[0]


def _look(folder: Path) -> dict[str, _FileStamp]:
    """Return the files of a run that have checksums, by their names in it."""
    stamps: dict[str, _FileStamp] = {}
    for path in _files(folder):
        try:
            there = path.stat()
        except OSError:
            continue
        if S_ISREG(there.st_mode):
            name = legible(path.relative_to(folder).as_posix())
            stamps[name] = _FileStamp(path, there.st_size, there.st_mtime_ns)
    return dict(sorted(stamps.items()))


def _files(folder: Path) -> Iterator[Path]:
    is_pruned = (folder / _PRUNED).exists()
    for top in _entries(folder):
        if top.name == CHECKSUMS or (top.name == _CACHE and not is_pruned):
            continue
        if not top.is_dir():
            yield top
        # Of links only those in the run's folder are followed: to a bundle, never in circles.
        for place, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (Path(place, name) for name in names if not name.startswith("."))


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
    files = {
        name: checksum
        for name, checksum in (_read_checksums(folder) or {}).items()
        if name not in removed_names
    }
    for name, digest in _digests(changed.items()):
        if digest is not None:
            files[name] = Checksum(changed[name].size, digest, stage)
    with replacing(folder / CHECKSUMS) as file:
        content = msgspec.json.encode(_ChecksumNote(dict(sorted(files.items()))))
        file.write(msgspec.json.format(content, indent=1) + b"\n")


def _read_checksums(folder: Path) -> dict[str, Checksum] | None:
    """Return the checksums that were noted; None where none were, or by a newer tracekit."""
    path = folder / CHECKSUMS
    try:
        note = msgspec.json.decode(read_input(path), type=_ChecksumNote)
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
    file_stamps = list(files)
    names = [name for name, _ in file_stamps]
    paths = [stamp.path for _, stamp in file_stamps]
    if sum(stamp.size for _, stamp in file_stamps) < _LARGE:
        yield from zip(names, map(_digest, paths), strict=True)
        return
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="checksums") as pool:
        yield from zip(names, pool.map(_digest, paths), strict=True)


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    except OSError:
        return None
