"""What lies at the addresses of a run's processes: binaries, and symbols in them."""

from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.bundle.stacks.addresses import in_kernel
from tracekit.tables.bundle.stacks.frames import NO_BINARY, Addresses, Binary
from tracekit.tables.bundle.stacks.images import ImageMap
from tracekit.tables.bundle.stacks.loaded import KERNEL, Loaded
from tracekit.tables.bundle.stacks.symbols_archive import (
    NO_SYMBOL,
    SymbolsArchive,
    SymbolsArchiveError,
)

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
            names = {one.uuid: one.name for one in self._numbers}
            listed = ", ".join(names[uuid] for uuid in absent[:_NAMED])
            more = f" and {len(absent) - _NAMED:,} more" if len(absent) > _NAMED else ""
            yield f"symbols/stores has nothing on {listed}{more}: their functions have no names."

    def _process(self, pid: int) -> _Process:
        if pid not in self._processes:
            images = self._loaded.images(pid)
            numbers = [self._numbers.setdefault(one.binary, len(self._numbers)) for one in images]
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
