"""Facts of room: other recorders, free disk, staging files left behind, a place for runs."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tracekit.base.errors import ToolError, UsageError
from tracekit.record.doctor.fact import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.record.doctor.surroundings import Surroundings, existing
from tracekit.record.xctrace.disk import VARIABLE, floor
from tracekit.record.xctrace.rivals import refuse_rivals

_GIGABYTE = 1e9
# The host recorder writes megabytes; xctrace and its staging files take many gigabytes.
_HOST_FLOOR = 0.1 * _GIGABYTE
_MUCH_STAGING = 1 * _GIGABYTE


def room_facts(surroundings: Surroundings, *, for_xctrace: bool) -> Iterator[Fact]:
    """Look at what else records, and at the disks; xctrace needs more than the host recorder."""
    yield _other_recorders(surroundings, for_xctrace=for_xctrace)
    yield from _disks(surroundings, for_xctrace=for_xctrace)
    yield _staging(surroundings, for_xctrace=for_xctrace)
    yield _writable(surroundings.runs)


def _other_recorders(surroundings: Surroundings, *, for_xctrace: bool) -> Fact:
    name = "other recorders"
    if not for_xctrace:
        return not_applicable(name, "Only recordings of xctrace get in each other's way.")
    try:
        found = refuse_rivals(surroundings.rivals())
    except ToolError as error:
        return warning(name, error.message, error.hint)
    if found:
        return warning(name, " ".join(found), "Quit it before you record.")
    return ok(name, "none runs")


def _disks(surroundings: Surroundings, *, for_xctrace: bool) -> Iterator[Fact]:
    names = ("disk for runs", "disk for staging")
    try:
        least = floor(surroundings.environment) if for_xctrace else _HOST_FLOOR
    except UsageError as error:
        yield from (failed(name, error.message, f"`unset {VARIABLE}`") for name in names)
        return
    lower = f" {VARIABLE}=2 lowers the floor to 2 GB." if for_xctrace else ""
    for name, folder in zip(names, (surroundings.runs, surroundings.temporary), strict=True):
        yield _disk(name, surroundings, existing(folder), least, f"Make room on that disk.{lower}")


def _disk(name: str, surroundings: Surroundings, folder: Path, least: float, fix: str) -> Fact:
    try:
        free = surroundings.free(folder)
    except OSError as error:
        return unknown(name, f"{folder}: {error.strerror}.", needed=True)
    words = f"{free / _GIGABYTE:.1f} GB free at {folder}"
    if free >= least:
        return ok(name, words)
    return failed(
        name,
        f"{words}; {least / _GIGABYTE:g} GB must stay free.",
        fix,
    )


def _staging(surroundings: Surroundings, *, for_xctrace: bool) -> Fact:
    name = "staging files"
    if not for_xctrace:
        return not_applicable(name, "xctrace leaves them, and it is not here.")
    left = sorted(surroundings.temporary.glob("instruments*.ktrace"))
    taken = sum(map(_size, left))
    words = f"{len(left)} left by recordings, {taken / _GIGABYTE:.1f} GB" if left else "none left"
    if taken < _MUCH_STAGING:
        return ok(name, words)
    return warning(
        name,
        f"{words}, in {surroundings.temporary}.",
        "Remove those that `lsof` shows as closed: nothing else ever does.",
    )


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _writable(runs: Path) -> Fact:
    there = existing(runs)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return failed(
            "place for runs",
            f"{there} cannot be written to: {error.strerror}.",
            "Stand in a folder of yours, or name one with --output.",
        )
    made = "" if there == runs.absolute() else f"; {runs} is made there when it is needed"
    return ok("place for runs", f"{there}{made}")
