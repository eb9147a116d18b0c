"""Files: shipped ones, tracekit's own notes, checked input, output that is written whole."""

import errno
import os
import re
import secrets
import shlex
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.streams import end_closed
from tracekit.base.system import flags

_PACKAGE = Path(__file__).parents[1]


def find_shipped_folder(name: str) -> Path:
    """Return the folder `name`: inside the package once installed, next to it in a checkout."""
    installed = _PACKAGE / name
    if installed.is_dir():
        return installed
    return _PACKAGE.parent / name


def notes_folder() -> Path:
    """Return the folder of tracekit's own notes: TRACEKIT_CACHE, or one in the user's cache."""
    configured_folder = os.environ.get("TRACEKIT_CACHE")
    if configured_folder:
        return Path(configured_folder)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tracekit"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tracekit"


_DOCUMENT_TYPE = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:\s++|(?><\?.*?\?>)|(?><!--.*?-->))*+<!DOCTYPE", re.DOTALL
)


def open_input(path: Path) -> BinaryIO:
    """Open a file to read its bytes; raise InputError if it cannot be opened.

    A pipe or a device, which could hang or never end, is refused as well.
    """
    try:
        open_flags = os.O_RDONLY | flags("O_NONBLOCK", "O_CLOEXEC")
        number = os.open(path, open_flags)
    except OSError as error:
        raise unreadable(path, error) from error
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    if not stat.S_ISDIR(mode):
        hint = "Write it to a file first: exports are read more than once."
        raise InputError(f"{path} is a pipe or a device, not a file.", hint)
    folder = "`tracekit tables` shows the tables of a bundle, `tracekit import` makes a run of it."
    raise InputError(f"{path} is a folder, not a file.", hint=folder)


def read_input(path: Path) -> bytes:
    """Return the bytes of a file that is small unless it is hostile.

    Raises:
        FileNotFoundError: There is no such file.
        InputError: As `open_input`.
    """
    try:
        with open_input(path) as file:
            return file.read()
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            reason = os.strerror(errno.ENOENT)
            raise FileNotFoundError(errno.ENOENT, reason, str(path)) from None
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def is_text(path: Path) -> bool:
    """Tell whether a path is text, which most formats and libraries assume."""
    return legible(str(path)) == str(path)


def legible(name: str) -> str:
    """Return a name as text: bytes that are not text, as names of files may have, are escaped."""
    return name.encode(errors="backslashreplace").decode()


def quote_path(path: Path) -> str:
    """Return the path as a shell takes it."""
    return shlex.quote(str(path))


_REMEDIES = {
    errno.ENOSPC: "Make room, or name a place on another disk",
    errno.EDQUOT: "Make room, or name a place on another disk",
    errno.EFBIG: "Name a place on a file system that takes files of this size",
    errno.ENAMETOOLONG: "Shorten the name, or name a place on a file system that takes longer ones",
    errno.EILSEQ: "Name a place on a file system that takes such names",
    errno.EIO: "Examine the disk, or name a place on another one",
    errno.EMFILE: "Raise the limit of open files, `ulimit -n`",
    errno.ENFILE: "End programs that hold many files open",
}


def remedy(error: OSError, option: str = "") -> str:
    """Return advice for a file that cannot be written, by the system's reason.

    `option` is the one by which a user names the place, such as --output.
    """
    advice = _REMEDIES.get(error.errno or 0, "Name a place that you may write to")
    if option and " place " in advice:
        return f"{advice}, with {option}."
    return f"{advice}."


def unreadable(path: Path, error: OSError) -> InputError:
    """Return the error for a file that cannot be opened or read."""
    return InputError(f"{path} cannot be read: {error.strerror}.")


def declares_document_type(beginning: bytes) -> bool:
    """Tell whether XML begins with a document type, which no export of xctrace has."""
    return _DOCUMENT_TYPE.match(beginning) is not None


def hostile(path: Path) -> InputError:
    """Return the error for a file with a document type, which could define endless entities."""
    return InputError(
        f"{path} declares a document type, which no export of xctrace does; it was not read.",
        hint="Export it again, with `xcrun xctrace export`.",
    )


_ABANDONED_AFTER = 86_400  # s; no process writes so long
_SUFFIX_LENGTH = 8  # of the name of an unfinished file, after its mark
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Open a file for writing that takes the place of `path` once it is complete.

    A link stays, and its target is replaced. A device, a pipe, and the target of standard output
    are not replaced: the complete content is written to them. The leftovers of a killed process are
    removed. Raise RecordingError if it cannot be written; then the earlier file stays as it was.
    """
    try:
        special = _special(path)
        if special is None:
            with _in_place_of(_follow_links(path)) as file:
                yield file
        else:
            with _through(special) as file:
                yield file
    except OSError as error:
        raise _unwritable(path, error) from error


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step, so that no reader ever sees a part of it."""
    with replacing(path) as file:
        file.write(content)


def require_writable(path: Path) -> None:
    """Raise RecordingError, before there is anything to write, if `path` cannot be written."""
    if path.is_dir():
        raise RecordingError(f"{path} is a folder.", hint="Name a file in it.")
    try:
        special = _special(path)
        if special is None:
            place = _follow_links(path)
            _require_write(place)
            existing_parents = (parent for parent in place.parents if parent.exists())
            folder = next(existing_parents)
            with tempfile.TemporaryFile(dir=folder):
                pass
        elif isinstance(special, Path):
            _require_write(special)
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def making(folder: Path) -> Generator[Path]:
    """Make an empty folder to write into that becomes `folder` once it is complete.

    `folder` must not exist, or be empty. If the block fails, nothing stays; the leftovers of a
    killed process are removed. Raise OSError if the folder cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for leftover in _find_abandoned(folder):
        shutil.rmtree(leftover, ignore_errors=True)
    suffix = secrets.token_hex(4)
    temporary = folder.with_name(f"{_mark(folder)}{suffix}")
    temporary.mkdir()
    try:
        yield temporary
        temporary.replace(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def _in_place_of(path: Path) -> Generator[BinaryIO]:
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _require_write(path)
        # Not by mkstemp, whose files only their owner can read: here the umask decides.
        suffix = secrets.token_hex(4)
        mine = path.with_name(f"{_mark(path)}{suffix}")
        open_flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags("O_CLOEXEC")
        handle = os.open(mine, open_flags, 0o644)
        temporary = mine
        with os.fdopen(handle, "wb") as file:
            _forget_abandoned(path)
            if path.exists():
                mine.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
        temporary.replace(path)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def _through(special: Path | int) -> Generator[BinaryIO]:
    """Open a file whose content is passed on once it is complete: formats seek in theirs."""
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        if isinstance(special, Path):
            number = os.open(special, os.O_WRONLY | flags("O_CLOEXEC"))
            with os.fdopen(number, "wb") as device:
                shutil.copyfileobj(file, device)
            return
        sys.stdout.flush()
        try:
            with os.fdopen(os.dup(special), "wb") as stream:
                shutil.copyfileobj(file, stream)
        except BrokenPipeError:
            end_closed()


def _special(path: Path) -> Path | int | None:
    """Return the device or pipe that a path leads to, or the number of an open stream; or None."""
    match = _DESCRIPTOR.fullmatch(str(path))
    if match:
        return int(match[1])
    try:
        status = path.stat()
    except OSError:
        return None
    for number in (1, 2):
        with suppress(OSError):
            is_same_file = os.path.samestat(status, os.fstat(number))
            if is_same_file and not stat.S_ISCHR(status.st_mode):
                return number
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return None
    return path


def _follow_links(path: Path) -> Path:
    """Return the target of a path through links, whether or not it exists."""
    place = Path(os.path.realpath(path))
    if place.is_symlink():  # they lead back to themselves
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return place


def _require_write(path: Path) -> None:
    """Raise the system's error for a file that may be replaced, but not written to."""
    if path.exists() and not os.access(path, os.W_OK):
        os.close(os.open(path, os.O_WRONLY))


def _unwritable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(
        f"{path} cannot be written: {error.strerror or error}.",
        hint=remedy(error),
    )


def _forget_abandoned(path: Path) -> None:
    """Remove unfinished files for `path` whose writers must have been killed."""
    for leftover in _find_abandoned(path):
        with suppress(OSError):
            leftover.unlink()


def _find_abandoned(path: Path) -> list[Path]:
    mark = _mark(path)
    latest = time.time() - _ABANDONED_AFTER
    abandoned: list[Path] = []
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(path.parent)  # noqa: PTH208  a pattern for each file takes longer
    for name in names:
        if not name.startswith(mark) or len(name) != len(mark) + _SUFFIX_LENGTH:
            continue
        leftover = path.with_name(name)
        with suppress(OSError):
            if leftover.stat().st_mtime < latest:
                abandoned.append(leftover)
    return abandoned


def _mark(path: Path) -> str:
    return f".{path.name}.unfinished-"
