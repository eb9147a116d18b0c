"""What lies at the addresses of a run's processes: binaries, and symbols in them.

Layout: docs/explanation/trace-bundles.md. The document keeps a signature for each process: its
binaries, from when to when they were there, and their segments.

Layout: docs/explanation/trace-bundles.md. Damage is never an error here: what cannot be read is not
known, and `remarks` tell of it.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, Value
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.document import by_number, entries
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.bundle.stacks.addresses import in_kernel
from tracekit.tables.bundle.stacks.frames import NO_BINARY, Addresses, Binary
from tracekit.tables.bundle.stacks.symbols import NO_SYMBOL, SymbolsArchive, SymbolsArchiveError

_HEAD = struct.Struct("<6I")
_IMAGE = struct.Struct("<16sIIQQIIII")
_SEGMENT = struct.Struct("<16sQQ")
_TRAILER = struct.Struct("<II16sQ")
_HEAD_MAGIC, _HEAD_VERSION = 0xFF01FF02, 1
_TRAILER_MAGIC, _TRAILER_VERSION = 0x00C0FFEE, 4
_OPEN_END = 0x7FFFFFFFFFFFFFFF
_ARM64 = 0x0100000C
_SUBTYPE = 0x00FFFFFF  # the rest are flags
_ARCHS = {0: "arm64", 2: "arm64e"}
_TEXT = "__TEXT"
_SHARED = "__LINKEDIT"  # of all binaries of a shared cache in one place; never code
_MOST_VARIANTS = 16
_MOST_IMAGES = 1 << 16


class SignatureError(ValueError):
    """What says which binaries a process has loaded is damaged, or of an unknown form."""


class Segment(NamedTuple):
    """A part of a binary, as the process has it."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Image:
    """A binary of a process, there from one mach time to another."""

    binary: Binary
    begin: int
    end: int
    segments: tuple[Segment, ...]

    def moved(self, base: int) -> "Image":
        """Return the image with all its addresses so much higher."""
        load = self.binary.load_address
        binary = Binary(
            self.binary.name,
            self.binary.uuid,
            self.binary.arch,
            None if load is None else load + base,
            self.binary.path,
        )
        segments = tuple(
            Segment(segment.name, segment.address + base, segment.size) for segment in self.segments
        )
        return Image(binary, self.begin, self.end, segments)


class Signature(NamedTuple):
    """The binaries of a process, and the shared cache beside: its UUID and where it lies."""

    images: tuple[Image, ...]
    cache: UUID
    base: int


def read_signature(content: bytes) -> Signature:
    """Return the binaries of a process.

    Raises:
        SignatureError: The signature is cut, damaged, or of a version that is not known.
    """
    try:
        magic, version, _, _, _, count = _HEAD.unpack_from(content)
        if (magic, version) != (_HEAD_MAGIC, _HEAD_VERSION):
            raise SignatureError("is of an unknown form")
        if count > _MOST_IMAGES:
            raise SignatureError(f"names more than {_MOST_IMAGES:,} binaries")
        offset, images = _HEAD.size, list[Image]()
        for _ in range(count):
            image, offset = _image(content, offset)
            images.append(image)
        magic, version, cache, base = _TRAILER.unpack_from(content, offset)
    except struct.error as error:
        raise SignatureError("is cut") from error
    if (magic, version) != (_TRAILER_MAGIC, _TRAILER_VERSION):
        raise SignatureError("does not end as it must")
    return Signature(tuple(images), UUID(bytes=cache), base)


def _image(content: bytes, offset: int) -> tuple[Image, int]:
    uuid, _, _, begin, end, cpu, subtype, segments, length = _IMAGE.unpack_from(content, offset)
    offset += _IMAGE.size
    if offset + length + segments * _SEGMENT.size > len(content):
        raise SignatureError("is cut")
    path = content[offset : offset + length].rstrip(b"\0").decode(errors="replace")
    offset += length
    found = tuple(_segments(content, offset, segments))
    load = next((segment.address for segment in found if segment.name == _TEXT), None)
    arch = _ARCHS.get(subtype & _SUBTYPE) if cpu == _ARM64 else None
    name = path.rpartition("/")[2]
    binary = Binary(name, str(UUID(bytes=uuid)).upper(), arch, load, path)
    return Image(binary, begin, end, found), offset + segments * _SEGMENT.size


def _segments(content: bytes, offset: int, count: int) -> Iterator[Segment]:
    for place in range(offset, offset + count * _SEGMENT.size, _SEGMENT.size):
        name, address, size = _SEGMENT.unpack_from(content, place)
        yield Segment(name.rstrip(b"\0").decode(errors="replace"), address, size)


class ImageMap:
    """Which binary of a process lies at an address at a time."""

    def __init__(self, images: tuple[Image, ...]) -> None:
        """Take the binaries of one process."""
        parts = [
            (segment.address, segment.size, image.begin, image.end, number)
            for number, image in enumerate(images)
            for segment in image.segments
            if segment.size and segment.name != _SHARED and segment.address + segment.size < 1 << 64
        ]
        parts.sort()
        table = np.array(parts, np.uint64).reshape(-1, 5)
        self._starts, sizes, self._begins, self._ends, numbers = table.T.copy()
        self._sizes = sizes
        self._numbers = numbers.astype(np.int64)

    def find(self, addresses: Addresses, ticks: Addresses) -> Numbers:
        """Return the number of the binary at each address at each mach time, or `NO_BINARY`."""
        found = np.full(addresses.size, NO_BINARY, np.int64)
        place = np.searchsorted(self._starts, addresses, side="right") - 1
        for _ in range(_MOST_VARIANTS):
            left = np.flatnonzero((found == NO_BINARY) & (place >= 0))
            if not left.size:
                break
            at, tick = place[left], ticks[left]
            there = addresses[left] - self._starts[at] < self._sizes[at]
            there &= (self._begins[at] <= tick) & (
                (tick < self._ends[at]) | (self._ends[at] == _OPEN_END)
            )
            found[left[there]] = self._numbers[at[there]]
            place[left] -= 1
        return found


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
_MOST_IMAGES_LOADED = 1 << 18  # of all processes


class Loaded:
    """The binaries of the processes of a run."""

    def __init__(self, run: BundleRun) -> None:
        """Take a run, without reading its document."""
        self._run = run
        self._left = _MOST_IMAGES_LOADED
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
                known = [document.archive.plain(value) for value in document.archive.sequence(node)]
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
    numbers = (_number(archive.plain(value)) for value in archive.sequence(node))
    return [number for number in numbers if number is not None]


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


_LARGEST = 1 << 26
_MOST_ARCHIVES = 1 << 12
_NAMED = 5  # binaries that a sentence names
_Process = tuple[ImageMap, Numbers]  # and the number of the binary of each image


class RunPlaces:
    """The binaries of a run's processes by address, and their symbols."""

    def __init__(self, run: BundleRun) -> None:
        """Take a run; nothing is read before it is asked for."""
        self._loaded = Loaded(run)
        self._files = run.files
        self._processes: dict[int, _Process] = {}
        self._numbers: dict[Binary, int] = {}
        self._archives: dict[str, SymbolsArchive | None] = {}
        self._symbols: dict[tuple[str, int], str | None] = {}
        self._damage: dict[str, None] = {}
        self._asked = False

    @property
    def binaries(self) -> Sequence[Binary]:
        """The binaries that have been found, by their numbers."""
        return [*self._numbers]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why names were not found, in sentences; nothing where none was looked for."""
        return (*self._loaded.remarks, *self._damage, *self._absent()) if self._asked else ()

    def find(self, pids: Numbers, addresses: Addresses, times: Numbers) -> Numbers:
        """Return the numbers of the binaries there at those times (ns), or `NO_BINARY`."""
        self._asked |= bool(pids.size)
        found = np.full(pids.size, NO_BINARY, np.int64)
        owners = np.where(in_kernel(addresses), KERNEL, pids)
        for pid in np.unique(owners).tolist():
            images, numbers = self._process(pid)
            if not numbers.size:
                continue
            here = np.flatnonzero(owners == pid)
            of = images.find(addresses[here], self._loaded.ticks(pid, times[here]))
            found[here] = np.where(of == NO_BINARY, NO_BINARY, numbers[of])
        return found

    def names(self, binaries: Numbers, addresses: Addresses) -> list[str | None]:
        """Return the names of symbols at addresses in binaries, None where none is known."""
        found: list[str | None] = [None] * binaries.size
        known = self.binaries
        for number in np.unique(binaries).tolist():
            binary = known[number] if number != NO_BINARY else None
            archive = self._archive(binary.uuid) if binary is not None else None
            if binary is None or archive is None or binary.load_address is None:
                continue
            here = np.flatnonzero(binaries == number)
            offsets = (addresses[here] - np.uint64(binary.load_address)).view(np.int64)
            symbols = archive.find(offsets).tolist()
            for place, symbol in zip(here.tolist(), symbols, strict=True):
                found[place] = self._name(binary.uuid, archive, symbol)
        return found

    def _absent(self) -> Iterator[str]:
        """Say which binaries occur and have no symbols, as none does in a bundle that is whole."""
        uuids = [uuid for uuid, archive in self._archives.items() if archive is None]
        absent = [uuid for uuid in uuids if not self._files.exists(symbols_file(uuid))]
        if absent:
            names = {number.uuid: number.name for number in self._numbers}
            listed = ", ".join(names[uuid] for uuid in absent[:_NAMED])
            more = f" and {len(absent) - _NAMED:,} more" if len(absent) > _NAMED else ""
            yield f"symbols/stores has nothing on {listed}{more}: their functions have no names."

    def _process(self, pid: int) -> _Process:
        if pid not in self._processes:
            images = self._loaded.images(pid)
            numbers = [
                self._numbers.setdefault(image.binary, len(self._numbers)) for image in images
            ]
            self._processes[pid] = (ImageMap(images), np.array(numbers, np.int64))
        return self._processes[pid]

    def _name(self, uuid: str, archive: SymbolsArchive, symbol: int) -> str | None:
        if symbol == NO_SYMBOL:
            return None
        key = (uuid, symbol)
        if key not in self._symbols:
            self._symbols[key] = archive.name(symbol)
        return self._symbols[key]

    def _archive(self, uuid: str) -> SymbolsArchive | None:
        if uuid not in self._archives:
            room = len(self._archives) < _MOST_ARCHIVES
            self._archives[uuid] = self._read(uuid) if room else None
        return self._archives[uuid]

    def _read(self, uuid: str) -> SymbolsArchive | None:
        name = symbols_file(uuid)
        if not self._files.exists(name):
            return None
        try:
            return SymbolsArchive(self._files.read(name, _LARGEST), uuid)
        except BundleError as error:
            self._damage[f"{error.message.removesuffix('.')}: its functions have no names."] = None
        except SymbolsArchiveError as error:
            self._damage[f"{name} {error}: its functions have no names."] = None
        return None


def symbols_file(uuid: str) -> str:
    """Return where the symbols of a binary are in a bundle."""
    return f"symbols/stores/{uuid}.symbolsarchive"
