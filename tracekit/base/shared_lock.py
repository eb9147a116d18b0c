"""One lock for a whole machine and all of its users, who share the machine, not their homes.

Its file is in a folder of the system in which every user may make files and only the owner of a
file may remove it: root's own, with the mode 1777. The file exists to be locked; the note in it is
a hint, as any user may write there. Things that others can plant in such a folder are refused: a
link, a folder, a pipe, a file with a second name, a file that may not be opened. A user can hold
the lock for ever, like anything that users share, and can do no more with it.

On Linux the folder is /run/lock or /tmp. On macOS it is /Users/Shared or /private/tmp: both have
that mode according to public knowledge of macOS, which was not tried on a Mac. A process with a
private view of the folder, as in a container or with systemd's PrivateTmp, is not excluded.
"""

import errno
import os
import stat
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracekit.base import locks
from tracekit.base.errors import RecordingError
from tracekit.base.locks import HeldError
from tracekit.base.system import flags

VARIABLE = "TRACEKIT_LOCKS"
_TEMPORARY = "/tmp"  # noqa: S108  it is looked at before it is used
PLACES = {"darwin": ("/Users/Shared", "/private/tmp"), "linux": ("/run/lock", _TEMPORARY)}
_EVERYONES = stat.S_ISVTX | stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
_MODE = 0o666
_FLAGS = flags("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")
_ATTEMPTS = 8
# A folder that takes no file, though its mode permits it; the next one may.
_NO_ROOM = {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT}


class NoPlaceError(Exception):
    """No folder of this machine is open to all of its users."""


def places(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the candidate folders; if TRACEKIT_LOCKS names one, that one alone."""
    configured_folder = environment.get(VARIABLE)
    if configured_folder:
        return (Path(configured_folder),)
    candidates = PLACES.get(sys.platform, (_TEMPORARY,))
    return tuple(place for place in map(Path, candidates) if is_for_everyone(place))


def is_for_everyone(folder: Path) -> bool:
    """Tell whether all users may make files in a folder, and none may remove another's."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_root_folder = stat.S_ISDIR(status.st_mode) and status.st_uid == 0
    return is_root_folder and stat.S_IMODE(status.st_mode) & _EVERYONES == _EVERYONES


@contextmanager
def holding(
    kind: str, environment: Mapping[str, str] = os.environ
) -> Generator[tuple[int | None, str]]:
    """Hold the machine's lock of one kind; yield its descriptor and an empty text.

    Without a folder for it, or without locks there, nothing is held: yield None and a sentence.

    Raises:
        HeldError: Another process has it.
        RecordingError: Something else is in its place.
    """
    apart = f"so nothing keeps a {kind} of another user from running at the same time"
    try:
        handle = _take_lock(f"tracekit-{kind}.lock", places(environment))
        reason = "The file system has no locks"
    except NoPlaceError:
        handle = None
        reason = "No folder of this machine takes a lock for all of its users"
    if handle is None:
        yield None, f"{reason}, {apart}; {VARIABLE} names a folder for it."
        return
    try:
        locks.note(handle, kind)
        yield handle, ""
    finally:
        locks.forget(handle)
        os.close(handle)


def _take_lock(name: str, folders: Sequence[Path]) -> int | None:
    """Take the lock in the first folder that has room for its file; None without locks there."""
    for folder in folders:
        path = folder / name
        for _ in range(_ATTEMPTS):
            try:
                handle = _open_lock_file(path)
            except OSError as error:
                if error.errno == errno.EEXIST:
                    continue  # it was made, or removed, in between
                if error.errno in _NO_ROOM and not _is_there(path):
                    break
                raise _make_lock_error(path, error.strerror or str(error)) from error
            try:
                is_locked = _lock(handle, path)
            except BaseException:
                os.close(handle)
                raise
            if is_locked and not _is_still(handle, path):
                os.close(handle)
                continue
            if not is_locked:
                os.close(handle)
            return handle if is_locked else None
    raise NoPlaceError


def _open_lock_file(path: Path) -> int:
    """Open the file, or make it; it is never emptied, and no link is followed.

    In such folders Linux refuses an open that may make a file for another user's file
    (protected_regular), so it comes second; a user who may not write may still lock.
    """
    try:
        return os.open(path, os.O_RDWR | _FLAGS)
    except PermissionError:
        return os.open(path, os.O_RDONLY | _FLAGS)
    except OSError as error:
        if error.errno == errno.EROFS:
            return os.open(path, os.O_RDONLY | _FLAGS)
        if error.errno != errno.ENOENT:
            raise
    if VARIABLE in os.environ:
        path.parent.mkdir(parents=True, exist_ok=True)
    open_flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS
    handle = os.open(path, open_flags, _MODE)
    path.chmod(_MODE)  # whatever the umask is
    return handle


def _lock(handle: int, path: Path) -> bool:
    """Lock the file if it is one, under this name alone; raise as `holding` does."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise _make_lock_error(path, "it is not a file")
    if status.st_nlink > 1:
        raise _make_lock_error(path, "the file has another name too")
    return locks.take_lock(handle, path)


def _is_still(handle: int, path: Path) -> bool:
    """Tell whether the name is still that of the locked file."""
    try:
        held_status = os.fstat(handle)
        return os.path.samestat(held_status, path.lstat())
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _make_lock_error(path: Path, reason: str) -> RecordingError:
    try:
        whose = f" It belongs to the user with the number {path.lstat().st_uid}."
    except OSError:
        whose = ""
    return RecordingError(
        f"{path} cannot be the lock that all users of this machine share: {reason.rstrip('.')}."
        f"{whose}",
        hint=f"Remove it, as its owner or as root; or let all users set {VARIABLE} to the same "
        "folder in which each may make files.",
    )


def words(error: HeldError) -> str:
    """Return the holder of the lock in words; empty unless the note names a living process."""
    holder = error.holder
    if holder is None or not holder.lives or not holder.local_start_time.isprintable():
        return ""
    return f": process {holder.pid}, since {holder.local_start_time}"
