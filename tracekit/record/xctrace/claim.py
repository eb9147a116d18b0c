"""A machine claimed for one recording: a lock, room on the disk, no other recorder.

And the files in which xctrace stages a recording, and never removes.
"""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec
import psutil

from tracekit.base import (
    Recording,
    RecordingError,
    ToolError,
    TracekitError,
    UsageError,
    documents,
    files,
    locks,
    shared_lock,
)
from tracekit.record.supervisor import Supervisor, size
from tracekit.record.xctrace.command import Run, run

log = logging.getLogger(__name__)

_ASKING = 30.0
VARIABLE = "TRACEKIT_DISK_FLOOR"
_DEFAULT = 10.0  # GB
_GIGABYTE = 1e9
_LAST_RESERVE = 0.1  # of the floor: below it, even saving is given up

Free = Callable[[Path], int]
# Whether a process has a file open; None if that cannot be known.
Open = Callable[[Path], bool | None]


def staging_files() -> frozenset[Path]:
    """Return the staging files of all recorders, in the folder for temporary files."""
    return frozenset(Path(tempfile.gettempdir()).glob("instruments*.ktrace"))


def staging_warning(leftover_files: frozenset[Path]) -> tuple[str, ...]:
    """Return a warning of the staging files that are still there."""
    if not leftover_files:
        return ()
    names = ", ".join(str(path) for path in sorted(leftover_files))
    megabytes = size(leftover_files) / 1e6
    message = f"xctrace left {megabytes:.0f} MB of staging files behind, which may still be in use"
    return (f"{message}: {names}. A later recording or export removes them.",)


def is_file_open(path: Path, run: Run = run) -> bool | None:
    """Ask `lsof` whether a process of this user has the file open; None if it cannot tell."""
    try:
        lsof_answer = run(("lsof", "-w", "-t", "--", str(path)), _ASKING)
    except TracekitError:
        return None
    if lsof_answer.stdout.strip():
        return True
    if lsof_answer.returncode == 1 and not lsof_answer.stderr.strip():
        return False
    return None


def free_bytes(path: Path) -> int:
    """Return the free bytes of the disk that holds `path`."""
    return shutil.disk_usage(path).free


def floor(environment: Mapping[str, str] = os.environ) -> float:
    """Return the bytes that must stay free: 10 GB, or TRACEKIT_DISK_FLOOR, in GB."""
    text = environment.get(VARIABLE, "").strip()
    try:
        gigabytes = float(text) if text else _DEFAULT
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < float("inf"):
        raise UsageError(f"{VARIABLE} is {text!r}, not a number of gigabytes.", hint="Such as 5.")
    return gigabytes * _GIGABYTE


@dataclass(frozen=True)
class Premises:
    """The folder of a recorder's notes, its demands on the disk, and the files it leaves alone."""

    # the folder of the lock and of `staging.json`, the list of staging files that recordings of
    # ours made and that are still there
    notes: Path = field(default_factory=files.notes_folder)
    floor: float = field(default_factory=floor)  # bytes that must stay free
    read_free_bytes: Free = free_bytes
    # seconds since its last change after which a staging file may be removed
    staging_age: float = 60.0
    is_open: Open = is_file_open

    def shortage(self, places: tuple[Path, ...]) -> str:
        """Return which of the places is below the floor, in words; empty if none is."""
        free_space, place = min((self.read_free_bytes(place), place) for place in places)
        if free_space >= self.floor:
            return ""
        gigabytes = free_space / _GIGABYTE
        requirement = f"{self.floor / _GIGABYTE:g} GB must stay free"
        return f"{gigabytes:.1f} GB are free where {place} lies, and {requirement}"

    def critical(self, places: tuple[Path, ...]) -> bool:
        """Return whether so little is left that even saving must be given up."""
        reserve = self.floor * _LAST_RESERVE
        return any(self.read_free_bytes(place) < reserve for place in places)

    def remove_staging(self, new_files: frozenset[Path] = frozenset()) -> frozenset[Path]:
        """Remove staging files of ours that nobody needs; return those of `new_files` that stay.

        A file is removed when it has not changed for a while and no process has it open: services
        of Instruments hold theirs for most of a minute after a recording was saved.
        """
        ledger = self.notes / "staging.json"
        known_files = _read_ledger(ledger)
        if new_files - known_files:
            # Saved first: to ask which processes have them open takes long, and may be interrupted.
            known_files |= new_files
            documents.save(ledger, sorted(map(str, known_files)))
        leftover_files = frozenset(path for path in known_files if not self._remove_if_unused(path))
        if leftover_files != known_files:
            documents.save(ledger, sorted(map(str, leftover_files)))
        return new_files & leftover_files

    def _remove_if_unused(self, path: Path) -> bool:
        try:
            is_young = time.time() - path.lstat().st_mtime < self.staging_age
            if is_young or self.is_open(path) is not False:
                return False
            path.unlink()
        except FileNotFoundError:
            return True
        except OSError as error:
            log.info("%s stays: %s", path, error.strerror)
            return False
        log.info("removed %s", path)
        return True


def _read_ledger(ledger: Path) -> frozenset[Path]:
    try:
        names = msgspec.json.decode(ledger.read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return frozenset()
    return frozenset(map(Path, names))


_NAMES = frozenset({"xctrace", "Instruments"})


@dataclass(frozen=True)
class Rival:
    """A process that may record; `arguments` is None if they may not be read."""

    pid: int
    name: str
    user: str = ""
    created: float = 0.0
    arguments: tuple[str, ...] | None = None


def rivals(names: Iterable[str] = _NAMES) -> tuple[Rival, ...]:
    """Return the processes of these names."""
    running_rivals: list[Rival] = []
    for process in psutil.process_iter(["name"]):
        if process.info["name"] in names:
            with suppress(psutil.NoSuchProcess):
                details = process.as_dict(["name", "username", "create_time", "cmdline"])
                rival = Rival(
                    pid=process.pid,
                    name=details["name"],
                    user=details["username"] or "",
                    created=details["create_time"] or 0.0,
                    arguments=tuple(details["cmdline"] or ()) or None,
                )
                running_rivals.append(rival)
    return tuple(running_rivals)


def refuse_rivals(running_rivals: Iterable[Rival]) -> tuple[str, ...]:
    """Return a warning for each program that may hold the performance counters.

    Whether an open Instruments records cannot be seen from outside, so it is not a reason to
    refuse; nor is an `xctrace` that exports. Raise ToolError for an `xctrace` that records.
    """
    warnings: list[str] = []
    for rival in running_rivals:
        since = f"{datetime.fromtimestamp(rival.created).astimezone():%Y-%m-%d %H:%M:%S}"
        words = f"{rival.name}, process {rival.pid}, runs since {since}"
        if rival.name != "xctrace" or rival.arguments is None:
            warnings.append(  # without the user's name: pages quote it
                f"{words}; if it records too, only one of the two has performance data."
            )
        elif "record" in rival.arguments[1:]:
            user = ""
            if rival.user:
                user = f" under {rival.user}"
            hint = f"Only one recorder can run at a time. Wait for it; {_stop(rival.pid)}"
            raise ToolError(f"Another recorder runs{user}: {words}.", hint)
    return tuple(warnings)


def _stop(pid: int) -> str:
    return f"`kill -INT {pid}` makes it stop and save."


@contextmanager
def hold_user_lock(
    folder: Path, lock_folder: Path
) -> Generator[tuple[int | None, locks.Holder | None]]:
    """Hold the lock of this user on this machine, noted in `lock_folder`, to record into `folder`.

    The system frees it when the last process that has it open ends. The block gets the lock's
    descriptor, and an earlier holder that did not give it back. Raise ToolError if another process
    holds it, with its start time and its purpose.
    """
    reason = "It makes sure that only one recording runs; let it be written."
    place = locks.place_of("recording", lock_folder)
    try:
        with locks.holding(place, reason, str(folder)) as lock_state:
            yield lock_state
    except locks.HeldError as error:
        raise _make_held_error(error.holder) from None


@contextmanager
def _machine_locked() -> Generator[tuple[int | None, str]]:
    """Hold the lock that all users of the machine share; raise ToolError if another has it."""
    try:
        with shared_lock.holding("recording") as lock_state:
            yield lock_state
    except locks.HeldError as error:
        raise ToolError(
            f"Another recording runs on this machine{shared_lock.words(error)}.",
            hint="Only one recorder can run at a time; wait for it. It is another user's, or has "
            "another home.",
        ) from None


def _make_held_error(holder: locks.Holder | None) -> ToolError:
    wait = "Only one recorder can run at a time; wait for it."
    if holder is None:
        return ToolError("Another recording runs on this machine.", hint=wait)
    if holder.lives:
        return ToolError(
            f"Another recording runs: process {holder.pid}, since {holder.local_start_time}, into "
            f"{holder.what}.",
            hint=f"{wait} {_stop(holder.pid)}",
        )
    return ToolError(
        f"The recording into {holder.what}, begun at {holder.local_start_time}, is still being "
        f"stopped and saved; its tracekit, process {holder.pid}, was ended.",
        hint=f"{wait} This can take minutes.",
    )


@dataclass(frozen=True)
class MachineClaim:
    """The resources of a recording that has the machine to itself."""

    supervisor: Supervisor
    places: tuple[Path, ...]
    warnings: tuple[str, ...] = ()


@contextmanager
def claim_machine(recording: Recording, premises: Premises) -> Generator[MachineClaim]:
    """Claim the machine for as long as the block lasts.

    Raise ToolError if another recorder runs, RecordingError if the disk is all but full.
    """
    places = (recording.folder, Path(tempfile.gettempdir()))
    with (
        hold_user_lock(recording.folder.absolute(), premises.notes) as (handle, stale_holder),
        _machine_locked() as (shared_handle, remark),
    ):
        warnings = list(refuse_rivals(rivals()))
        if remark:
            warnings.append(remark)
        if stale_holder is not None:
            warnings.append(
                f"The recording into {stale_holder.what}, begun at {stale_holder.local_start_time} "
                f"by process {stale_holder.pid}, did not end in good order; `tracekit export` may "
                "still read it."
            )
        premises.remove_staging()
        shortage = premises.shortage(places)
        if shortage:
            raise RecordingError(
                f"Nothing was recorded: {shortage}.",
                hint="A recording and its staging files can take many gigabytes. "
                "`tracekit runs prune --keep 7d` frees the space of old bundles; "
                f"{VARIABLE}=2 lowers the floor to 2 GB.",
            )
        handles = [number for number in (handle, shared_handle) if number is not None]
        with Supervisor(recording.folder, handles) as supervisor:
            yield MachineClaim(supervisor, places, tuple(warnings))
