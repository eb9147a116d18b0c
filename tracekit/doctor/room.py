"""Facts of room: other recorders, free disk, staging files left behind, a place for runs."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tracekit.doctor.fact import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.doctor.surroundings import Surroundings, existing
from tracekit.units import quantity
from tracekit.xctrace.staging import size

_RECORDERS = {"xctrace", "Instruments"}
# A recording of xctrace and its staging files can take several gigabytes; of the host, megabytes.
XCTRACE_FLOOR = 10 << 30
HOST_FLOOR = 100 << 20
_MUCH_STAGING = 1 << 30


def room_facts(surroundings: Surroundings, *, has_xctrace: bool) -> Iterator[Fact]:
    """Look at what else records, and at the disks."""
    yield _other_recorders(surroundings, has_xctrace=has_xctrace)
    floor = XCTRACE_FLOOR if has_xctrace else HOST_FLOOR
    yield _disk("disk for runs", surroundings, surroundings.runs, floor)
    yield _disk("disk for staging", surroundings, surroundings.temporary, floor)
    yield _staging(surroundings, has_xctrace=has_xctrace)
    yield _writable(surroundings.runs)


def _other_recorders(surroundings: Surroundings, *, has_xctrace: bool) -> Fact:
    name = "other recorders"
    if not has_xctrace:
        return not_applicable(name, "Only recordings of xctrace get in each other's way.")
    found = [one for one in surroundings.processes() if one.name in _RECORDERS]
    if not found:
        return ok(name, "none runs")
    shown = ", ".join(f"{one.name} (pid {one.pid})" for one in found)
    return warning(
        name,
        f"{shown}: only one can record at a time on a machine.",
        "Wait for it, or quit it.",
    )


def _disk(name: str, surroundings: Surroundings, folder: Path, floor: int) -> Fact:
    there = existing(folder)
    try:
        free = surroundings.free(there)
    except OSError as error:
        return unknown(name, f"{there}: {error.strerror}.", needed=True)
    words = f"{quantity(free, 'bytes')} free at {there}"
    if free >= floor:
        return ok(name, words)
    needed = quantity(floor, "bytes")
    return failed(name, f"{words}; a recording needs {needed}.", "Make room on that disk.")


def _staging(surroundings: Surroundings, *, has_xctrace: bool) -> Fact:
    name = "staging files"
    if not has_xctrace:
        return not_applicable(name, "xctrace leaves them, and it is not here.")
    left = sorted(surroundings.temporary.glob("instruments*.ktrace"))
    taken = size(left)
    words = f"{len(left)} left by recordings, {quantity(taken, 'bytes')}" if left else "none left"
    if taken < _MUCH_STAGING:
        return ok(name, words)
    return warning(
        name,
        f"{words}, in {surroundings.temporary}.",
        "Remove those that `lsof` shows as closed: nothing else ever does.",
    )


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
