"""The content of the address spaces of the processes of a run: binaries, and symbols in them.

The document has a signature for each process: its binaries, the times at which they were loaded and
unloaded, and their segments. Damage is never an error here: unreadable parts are treated as
unknown, and reported by `losses`.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple
from uuid import UUID

import numpy as np

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.container.keyed import Archive, Value
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import ArchiveError, BundleError
from tracekit.tables.bundle.stacks.stacks import NO_BINARY, Addresses, Binary, in_kernel
from tracekit.tables.bundle.stacks.symbols import SymbolsArchive
from tracekit.tables.losses import Flaw, Loss

_HEAD = struct.Struct("<6I")
_IMAGE = struct.Struct("<16sIIQQIIII")
_SEGMENT = struct.Struct("<16sQQ")
_TRAILER = struct.Struct("<II16sQ")
_HEAD_MAGIC = 0xFF01FF02
_HEAD_VERSION = 1
_TRAILER_MAGIC = 0x00C0FFEE
_TRAILER_VERSION = 4
_OPEN_END = 0x7FFFFFFFFFFFFFFF
_ARM64 = 0x0100000C
_SUBTYPE = 0x00FFFFFF  # the rest are flags
_ARCHS = {0: "arm64", 2: "arm64e"}
_TEXT = "__TEXT"
_SHARED = "__LINKEDIT"  # shared by all binaries of a shared cache; never code
_MOST_VARIANTS = 16
_MOST_IMAGES = 1 << 16


class Segment(NamedTuple):
    """A part of a binary, at its address in the process."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Image:
    """A binary of a process, loaded from one mach time to another."""

    binary: Binary
    begin: int
    end: int
    segments: tuple[Segment, ...]


class Signature(NamedTuple):
    """The binaries of a process, and its shared cache: the UUID and the load address."""

    images: tuple[Image, ...]
    cache: UUID
    base: int


def read_signature(content: bytes, base: int = 0) -> Signature:
    """Return the binaries of a process, or of a cache that is loaded at `base`."""
    try:
        magic, version, _, _, _, count = _HEAD.unpack_from(content)
        if (magic, version) != (_HEAD_MAGIC, _HEAD_VERSION):
            raise ArchiveError("is of an unknown form")
        if count > _MOST_IMAGES:
            raise ArchiveError(f"names more than {_MOST_IMAGES:,} binaries")
        offset = _HEAD.size
        images = list[Image]()
        for _ in range(count):
            image, offset = _image(content, offset, base)
            images.append(image)
        magic, version, cache, cache_base = _TRAILER.unpack_from(content, offset)
    except struct.error as error:
        raise ArchiveError("is cut") from error
    if (magic, version) != (_TRAILER_MAGIC, _TRAILER_VERSION):
        raise ArchiveError("does not end as it must")
    return Signature(tuple(images), UUID(bytes=cache), cache_base)


def _image(content: bytes, offset: int, base: int) -> tuple[Image, int]:
    uuid, _, _, begin, unload_tick, cpu, subtype, segments, length = _IMAGE.unpack_from(
        content, offset
    )
    offset += _IMAGE.size
    segments_end = offset + length + segments * _SEGMENT.size
    if segments_end > len(content):
        raise ArchiveError("is cut")
    encoded_path = content[offset : offset + length].rstrip(b"\0")
    path = encoded_path.decode(errors="replace")
    offset += length
    end = offset + segments * _SEGMENT.size
    image_segments: list[Segment] = []
    load: int | None = None
    for stored_name, address, size in _SEGMENT.iter_unpack(content[offset:end]):
        segment_name = stored_name.rstrip(b"\0").decode(errors="replace")
        segment = Segment(segment_name, base + address, size)
        image_segments.append(segment)
        if load is None and segment.name == _TEXT:
            load = segment.address
    arch: str | None = None
    if cpu == _ARM64:
        arch = _ARCHS.get(subtype & _SUBTYPE)
    _, _, name = path.rpartition("/")
    uuid_text = str(UUID(bytes=uuid)).upper()
    binary = Binary(name, uuid_text, arch, load, path)
    return Image(binary, begin, unload_tick, tuple(image_segments)), end


class ImageMap:
    """A map from addresses and times to the binaries of a process."""

    def __init__(self, images: Sequence[Image]) -> None:
        parts: list[tuple[int, int, int, int, int]] = []
        for number, image in enumerate(images):
            for segment in image.segments:
                fits = segment.address + segment.size < 1 << 64
                if segment.size and segment.name != _SHARED and fits:
                    part = (segment.address, segment.size, image.begin, image.end, number)
                    parts.append(part)
        parts.sort()
        table = np.array(parts, np.uint64).reshape(-1, 5)
        self._starts, sizes, self._begins, self._ends, numbers = table.T.copy()
        self._sizes = sizes
        self._numbers = numbers.astype(np.int64)

    def find(self, addresses: Addresses, ticks: Addresses) -> Numbers:
        """Return the number of the binary at each address at each mach time, or `NO_BINARY`."""
        numbers = np.full(addresses.size, NO_BINARY, np.int64)
        places_after = np.searchsorted(self._starts, addresses, side="right")
        place = places_after - 1
        for _ in range(_MOST_VARIANTS):
            is_pending = (numbers == NO_BINARY) & (place >= 0)
            pending_rows = np.flatnonzero(is_pending)
            if not pending_rows.size:
                break
            entries = place[pending_rows]
            tick = ticks[pending_rows]
            ends = self._ends[entries]
            distances = addresses[pending_rows] - self._starts[entries]
            there = distances < self._sizes[entries]
            there &= self._begins[entries] <= tick
            there &= (tick < ends) | (ends == _OPEN_END)
            numbers[pending_rows[there]] = self._numbers[entries[there]]
            place[pending_rows] -= 1
        return numbers


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
_LARGEST = 1 << 26
_MOST_ARCHIVES = 1 << 12
_Process = tuple[ImageMap, Numbers]  # and the number of the binary of each image


class RunPlaces:
    """The binaries at the addresses of the processes of a run, each read at its first use."""

    def __init__(self, run: BundleRun) -> None:
        self._run = run
        self._files = run.files
        self._left = _MOST_IMAGES_LOADED
        self._processes: dict[int, _Process] = {}
        self._numbers: dict[Binary, int] = {}
        self._archives: dict[str, SymbolsArchive | None] = {}
        self._damage: dict[str, None] = {}
        self._asked = False
        self._in_cache = cache(self._read_cached)

    @property
    def binaries(self) -> Sequence[Binary]:
        """The binaries that were found so far, by their numbers."""
        return list(self._numbers)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of names that were looked up so far."""
        if not self._asked:
            return ()
        reason = self._run.document.why_not(self._run.number)
        run = self._run.number
        if reason:
            text = f"Names of functions and binaries are not available, because {reason}."
            return (Loss(self._run.document.flaw(), text, run=run),)
        losses = [Loss(Flaw.UNNAMED, text, run=run) for text in self._damage]
        text = self._describe_missing_symbols()
        if text:
            losses.append(Loss(Flaw.UNSURE, text, run=run))
        return tuple(losses)

    def find(self, pids: Numbers, addresses: Addresses, times: Numbers) -> Numbers:
        """Return the numbers of the binaries there at those times (ns), or `NO_BINARY`."""
        self._asked |= bool(pids.size)
        binary_numbers = np.full(pids.size, NO_BINARY, np.int64)
        owners = np.where(in_kernel(addresses), KERNEL, pids)
        for pid in np.unique(owners).tolist():
            images, numbers = self._process(pid)
            if not numbers.size:
                continue
            here = np.flatnonzero(owners == pid)
            ticks = self._ticks(pid, times[here])
            image_numbers = images.find(addresses[here], ticks)
            is_missing = image_numbers == NO_BINARY
            binary_numbers[here] = np.where(is_missing, NO_BINARY, numbers[image_numbers])
        return binary_numbers

    def names(self, binaries: Numbers, addresses: Addresses) -> list[str | None]:
        """Return the names of symbols at addresses in binaries; None if one is unknown."""
        symbol_names: list[str | None] = [None] * binaries.size
        all_binaries = self.binaries
        for number in np.unique(binaries).tolist():
            if number == NO_BINARY:
                continue
            binary = all_binaries[number]
            archive = self._archive(binary.uuid)
            if archive is None or binary.load_address is None:
                continue
            here = np.flatnonzero(binaries == number)
            offsets_in_binary = addresses[here] - np.uint64(binary.load_address)
            offsets = offsets_in_binary.view(np.int64)
            symbols = archive.find(offsets).tolist()
            for place, symbol in zip(here.tolist(), symbols, strict=True):
                symbol_names[place] = archive.name(symbol)
        return symbol_names

    def _tell(self, damage: str) -> None:
        self._damage[damage] = None

    def _describe_missing_symbols(self) -> str:
        """Return a sentence on the binaries without symbols, of which an intact bundle has none."""
        missing_uuids: list[str] = []
        for uuid, archive in self._archives.items():
            if archive is None and not self._files.exists(symbols_file(uuid)):
                missing_uuids.append(uuid)
        if not missing_uuids:
            return ""
        names = {binary.uuid: binary.name for binary in self._numbers}
        binary_words = names[missing_uuids[0]]
        if len(missing_uuids) > 1:
            binary_words += f" and {len(missing_uuids) - 1:,} more"
        return f"symbols/stores has nothing on {binary_words}: their functions have no names."

    def _archive(self, uuid: str) -> SymbolsArchive | None:
        """Return the symbols of a binary; None if there are none that can be read."""
        if uuid in self._archives:
            return self._archives[uuid]
        self._archives[uuid] = None
        name = symbols_file(uuid)
        if len(self._archives) <= _MOST_ARCHIVES and self._files.exists(name):
            try:
                with self._files.reading(name):
                    content = self._files.read(name, _LARGEST)
                    self._archives[uuid] = SymbolsArchive(content, uuid)
            except BundleError as error:
                self._tell(f"{error.message.removesuffix('.')}: its functions have no names.")
        return self._archives[uuid]

    def _process(self, pid: int) -> _Process:
        if pid not in self._processes:
            images = self._images(pid)
            numbers: list[int] = []
            for image in images:
                number = self._numbers.setdefault(image.binary, len(self._numbers))
                numbers.append(number)
            image_map = ImageMap(images)
            self._processes[pid] = (image_map, np.array(numbers, np.int64))
        return self._processes[pid]

    def _images(self, pid: int) -> Sequence[Image]:
        """Return the binaries of a process, of the kernel if `pid` is `KERNEL`; none if unknown."""
        images: list[Image] = []
        for _, node in self._process_nodes.get(pid, ()):
            try:
                images += self._read_images(node)
            except ArchiveError as error:
                who = "the kernel" if pid == KERNEL else f"process {pid}"
                consequence = "some of its addresses have no names"
                self._tell(f"The list of the binaries of {who} {error}: {consequence}.")
        self._left -= len(images)
        if self._left < 0:
            self._tell("There are more binaries than a recording can have: some are left out.")
            return ()
        return images

    def _ticks(self, pid: int, times: Numbers) -> Addresses:
        """Return times (ns of the run) as mach time, or a late one if the timebase is unknown."""
        nodes = self._process_nodes.get(pid)
        device = ""
        if nodes:
            device = nodes[0][0]
        timebase = self._timebases.get(device)
        if timebase is None:
            return np.full(times.size, _ANY_TIME, np.uint64)
        numerator, denominator, start = timebase
        ticks = start + times * denominator // numerator
        return ticks.astype(np.uint64)

    @property
    def _document(self) -> Archive:
        """The document; there is none without processes."""
        archive = self._run.document.archive
        assert archive is not None
        return archive

    def _read_images(self, node: Value) -> Iterator[Image]:
        archive = self._document
        content = archive.unwrap(archive.part(node, _SIGNATURE))
        if not isinstance(content, bytes):
            return
        signature = read_signature(content)
        yield from signature.images
        listed = archive.part(node, _IN_CACHE)
        if listed is None:
            return
        for value in archive.sequence(listed):
            address = archive.integer(value)
            if address is not None:
                yield from self._in_cache(signature.cache, address, signature.base)

    def _read_cached(self, cache_uuid: UUID, address: int, base: int) -> tuple[Image, ...]:
        cached_addresses = self._caches.get(cache_uuid, {})
        content = self._document.unwrap(cached_addresses.get(address))
        if isinstance(content, bytes):
            return read_signature(content, base).images
        return ()

    @cached_property
    def _process_nodes(self) -> dict[int, list[tuple[str, Value]]]:
        """Devices and nodes of processes, by pid."""
        archive = self._run.document.archive
        nodes = dict[int, list[tuple[str, Value]]]()
        if archive is None:
            return nodes
        try:
            stores_by_run = archive.get_numbered(archive.top(_STORES))
            stores = archive.mapping(stores_by_run.get(self._run.number))
        except ArchiveError as error:
            self._tell(f"The list of binaries {error}: addresses have no names.")
            return nodes
        for key, node in stores.items():
            device, _, tail = str(key).rpartition(".")
            pid = archive.integer(tail)
            if pid is not None:
                owner = KERNEL if pid in _KERNEL_PIDS else pid
                nodes_of_owner = nodes.setdefault(owner, [])
                nodes_of_owner.append((device, node))
        return nodes

    @cached_property
    def _caches(self) -> dict[UUID, dict[int, Value]]:
        """Signatures of the binaries of shared caches, by load address."""
        archive = self._document
        caches = dict[UUID, dict[int, Value]]()
        cache_nodes = archive.mapping(archive.top(_CACHES))
        for key, node in cache_nodes.items():
            cache_uuid = _uuid(key)
            if cache_uuid is None:
                continue
            signatures: dict[int, Value] = {}
            for address_key, signature in archive.mapping(node).items():
                load_address = archive.integer(address_key)
                if load_address is not None:
                    signatures[load_address] = signature
            caches[cache_uuid] = signatures
        return caches

    @cached_property
    def _timebases(self) -> dict[str, tuple[int, int, int]]:
        document = self._run.document.run(self._run.number)
        timebases = dict[str, tuple[int, int, int]]()
        if document is None:
            return timebases
        archive = document.archive
        try:
            time_nodes = archive.mapping(document.get(_TIMES))
            for device, node in time_nodes.items():
                values = [archive.unwrap(value) for value in archive.sequence(node)]
                numerator, denominator, start = (int(value) for value in values[_TIMEBASE])
                if 0 < numerator < _MOST_32 and 0 < denominator < _MOST_32:
                    timebases[str(device)] = (numerator, denominator, start & _ANY_TIME)
        except (ArchiveError, TypeError, ValueError):
            self._tell("The mach times of the run cannot be read: the last binaries are taken.")
        return timebases


def _uuid(value: Value) -> UUID | None:
    try:
        if isinstance(value, bytes):
            return UUID(bytes=value)
        return UUID(str(value))
    except ValueError:
        return None


def symbols_file(uuid: str) -> str:
    """Return the file of the symbols of a binary in a bundle."""
    return f"symbols/stores/{uuid}.symbolsarchive"
