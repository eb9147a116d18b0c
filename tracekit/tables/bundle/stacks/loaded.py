"""What the document of a bundle says of the binaries that each process of a run has loaded.

Layout: docs/explanation/trace-bundles.md. Damage is never an error here: what cannot be read is not
known, and `remarks` tell of it.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from tracekit.tables.bundle.about.document import by_number, entries
from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, Value
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.stacks.frames import Addresses
from tracekit.tables.bundle.stacks.images import Image, Signature, SignatureError, read_signature

KERNEL = -1
_STORES = "com.apple.xray.symbolstoremanager.symbolstores"
_SIGNATURE = "com.apple.xray.symbolstore.signature"
_CACHES = "com.apple.xray.symbolstore.sharedcache.signatures"
_IN_CACHE = "dsc_load_addresses"
_TIMES = "mach_time_info"
_MOST_32 = (1 << 32) - 1
_KERNEL_PIDS = {0, KERNEL, _MOST_32}  # documents have the first, signatures the last
_ANY_TIME = (1 << 63) - 2
_TIMEBASE = slice(1, 4)  # of a device: numerator, denominator, mach time at the start
_MOST_IMAGES = 1 << 18  # of all processes


class Loaded:
    """The binaries of the processes of a run."""

    def __init__(self, run: BundleRun) -> None:
        """Take a run, without reading its document."""
        self._run = run
        self._left = _MOST_IMAGES
        self._damage: dict[str, None] = {}
        self._cached: dict[tuple[str, int], tuple[Image, ...]] = {}

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is not known of processes that were asked for, in sentences."""
        if why := self._run.document.why_not(self._run.number):
            return (f"Names of functions and binaries are not available, because {why}.",)
        return tuple(self._damage)

    def images(self, pid: int) -> tuple[Image, ...]:
        """Return the binaries of a process, of the kernel if `pid` is `KERNEL`; none if unknown."""
        archive = self._run.document.archive
        if archive is None:
            return ()
        found: list[Image] = []
        for _, node in self._processes.get(pid, ()):
            try:
                found += self._of(archive, node)
            except (ArchiveError, SignatureError) as error:
                who = "the kernel" if pid == KERNEL else f"process {pid}"
                named = "some of its addresses have no names"
                self._tell(f"The list of the binaries of {who} {error}: {named}.")
        return self._counted(found)

    def ticks(self, pid: int, times: Numbers) -> Addresses:
        """Return times (ns of the run) as mach time; late ones where that is not known."""
        device = next((device for device, _ in self._processes.get(pid, ())), "")
        timebase = self._timebases.get(device)
        if timebase is None:
            return np.full(times.size, _ANY_TIME, np.uint64)
        numerator, denominator, start = timebase
        return (start + times * denominator // numerator).astype(np.uint64)

    def _counted(self, found: list[Image]) -> tuple[Image, ...]:
        self._left -= len(found)
        if self._left < 0:
            self._tell("There are more binaries than a recording can have: some are left out.")
            return ()
        return tuple(found)

    def _of(self, archive: Archive, node: Value) -> Iterator[Image]:
        content = archive.plain(archive.part(node, _SIGNATURE))
        if not isinstance(content, bytes):
            return
        signature = read_signature(content)
        yield from signature.images
        for address in _addresses(archive, archive.part(node, _IN_CACHE)):
            yield from self._in_cache(archive, signature, address)

    def _in_cache(self, archive: Archive, signature: Signature, address: int) -> tuple[Image, ...]:
        key = (str(signature.cache), address)
        if key not in self._cached:
            content = self._caches.get(signature.cache, {}).get(address)
            plain = archive.plain(content)
            self._cached[key] = read_signature(plain).images if isinstance(plain, bytes) else ()
        return tuple(one.moved(signature.base) for one in self._cached[key])

    @cached_property
    def _processes(self) -> dict[int, list[tuple[str, Value]]]:
        """Devices and nodes of processes, by pid."""
        archive, found = self._run.document.archive, dict[int, list[tuple[str, Value]]]()
        for key, node in self._entries(_STORES).items():
            device, _, tail = str(key).rpartition(".")
            pid = _number(tail)
            if archive is not None and pid is not None:
                of = KERNEL if pid in _KERNEL_PIDS else pid
                found.setdefault(of, []).append((device, node))
        return found

    @cached_property
    def _caches(self) -> dict[UUID, dict[int, Value]]:
        """Signatures of the binaries of shared caches, by load address."""
        archive, found = self._run.document.archive, dict[UUID, dict[int, Value]]()
        if archive is None:
            return found
        for key, node in entries(archive, archive.top(_CACHES)).items():
            cache = _uuid(key)
            if cache is not None:
                listed = entries(archive, node).items()
                found[cache] = {at: one for key, one in listed if (at := _number(key)) is not None}
        return found

    @cached_property
    def _timebases(self) -> dict[str, tuple[int, int, int]]:
        document, found = (
            self._run.document.run(self._run.number),
            dict[str, tuple[int, int, int]](),
        )
        if document is None:
            return found
        try:
            devices = entries(document.archive, document.get(_TIMES))
            for device, node in devices.items():
                known = [document.archive.plain(one) for one in document.archive.sequence(node)]
                numerator, denominator, start = (int(one) for one in known[_TIMEBASE])
                if 0 < numerator < _MOST_32 and 0 < denominator < _MOST_32:
                    found[str(device)] = (numerator, denominator, start & _ANY_TIME)
        except (ArchiveError, TypeError, ValueError):
            self._tell("The mach times of the run cannot be read: the last binaries are taken.")
        return found

    def _entries(self, top: str) -> Mapping[Any, Value]:
        archive = self._run.document.archive
        if archive is None:
            return {}
        try:
            runs = by_number(entries(archive, archive.top(top)))
            return entries(archive, runs.get(self._run.number))
        except ArchiveError as error:
            self._tell(f"The list of binaries {error}: addresses have no names.")
            return {}

    def _tell(self, remark: str) -> None:
        self._damage[remark] = None


def _addresses(archive: Archive, node: Value) -> list[int]:
    if archive.at(node) is None:
        return []
    numbers = (_number(archive.plain(one)) for one in archive.sequence(node))
    return [one for one in numbers if one is not None]


def _number(value: Value) -> int | None:
    if isinstance(value, int):
        return int(value)
    try:
        return int(value) if isinstance(value, str) and len(value) < 21 else None  # noqa: PLR2004
    except ValueError:
        return None


def _uuid(value: Value) -> UUID | None:
    try:
        return UUID(bytes=value) if isinstance(value, bytes) else UUID(str(value))
    except ValueError:
        return None
