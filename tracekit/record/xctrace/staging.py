"""The files in which xctrace stages a recording, and never removes."""

import logging
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from tracekit.base import TracekitError, save
from tracekit.record.supervisor import size
from tracekit.record.xctrace.command import Run, run

log = logging.getLogger(__name__)

_ASKING = 30.0
# Whether a process has a file open; None where that cannot be known.
Open = Callable[[Path], bool | None]


def staging_files() -> frozenset[Path]:
    """Return the staging files of all recorders, in the folder for temporary files."""
    return frozenset(staging_folder().glob("instruments*.ktrace"))


def staging_folder() -> Path:
    """Return the folder for temporary files."""
    return Path(tempfile.gettempdir())


def opened(path: Path, run: Run = run) -> bool | None:
    """Ask `lsof` whether a process of this user has the file open; None if it cannot tell."""
    try:
        asked = run(("lsof", "-w", "-t", "--", str(path)), _ASKING)
    except TracekitError:
        return None
    if asked.stdout.strip():
        return True
    return False if asked.returncode == 1 and not asked.stderr.strip() else None


def remember(ledger: Path, paths: Iterable[Path]) -> None:
    """Note that a recording of ours made these files, so that they may be removed later."""
    if paths := frozenset(paths):
        save(ledger, sorted(map(str, paths | _known(ledger))))


def sweep(ledger: Path, age: float, is_open: Open = opened) -> frozenset[Path]:
    """Remove the files of the ledger that nobody needs any more; return those that are left.

    A file goes when it has not changed for `age` seconds and no process has it open: services
    of Instruments hold theirs for most of a minute after a recording was saved.
    """
    known = _known(ledger)
    left = frozenset(path for path in known if not _removed(path, age, is_open))
    if left != known:
        save(ledger, sorted(map(str, left)))
    return left


def staging_warning(left: frozenset[Path]) -> tuple[str, ...]:
    """Say which staging files are still there."""
    if not left:
        return ()
    names = ", ".join(str(path) for path in sorted(left))
    megabytes = size(left) / 1e6
    said = f"xctrace left {megabytes:.0f} MB of staging files behind, which may still be in use"
    return (f"{said}: {names}. A later recording or export removes them.",)


def _removed(path: Path, age: float, is_open: Open) -> bool:
    try:
        if time.time() - path.lstat().st_mtime < age or is_open(path) is not False:
            return False
        path.unlink()
    except FileNotFoundError:
        return True
    except OSError as error:
        log.info("%s stays: %s", path, error.strerror)
        return False
    log.info("removed %s", path)
    return True


def _known(ledger: Path) -> frozenset[Path]:
    try:
        return frozenset(map(Path, msgspec.json.decode(ledger.read_bytes(), type=list[str])))
    except (OSError, msgspec.MsgspecError):
        return frozenset()
