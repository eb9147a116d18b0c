"""What a document has defined so far, stacks in all shapes, and the cells of its rows.

A stack that only wraps another is that stack. A stack of addresses has the program counter in
front, as Instruments has it, and ends before the zeros that close it; its frames have an
address and no name, and are numbered after all frames that do.

A value costs some twenty bytes beside its text: what it is, where its text ends, its number
among the processes and threads, stacks or frames.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.definitions import Growing, TextHeap
from tracekit.tables.xml.lookup import (
    ADDRESSES,
    KINDS,
    NOTHING,
    Found,
    Gathered,
    Lookup,
    Numbers,
    among,
)
from tracekit.tables.xml.node import FRAMES, STACKS, Symbols, no_symbols

_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,20}")
_LINE = re.compile(r"[0-9]{1,18}")
_MOST = 1 << 64


class Parts(NamedTuple):
    """The numbers of what the frames, sources and stacks of a block consist of; -1 for none."""

    binaries: Numbers  # of frames, among binaries
    sources: Numbers  # of frames, among sources
    frames: Numbers  # of stacks, among frames
    paths: pa.Array  # of sources, in words
    addresses: list[list[str]]  # of stacks of addresses, in words


class Stacks:
    """The stacks and frames of an export."""

    def __init__(self) -> None:
        """Begin with none."""
        self._names: list[pa.Array] = []
        self._addresses: list[pa.Array] = []
        self._binaries_of: Growing[np.int32] = Growing(np.int32)
        self._sources_of: Growing[np.int32] = Growing(np.int32)
        self._binaries: list[tuple[object, ...]] = []
        self._paths: list[pa.Array] = []
        self._lines: list[int | None] = []
        self._places: dict[int | None, int] = {}  # of addresses without a frame of their own
        self._members: Growing[np.int64] = Growing(np.int64)
        self._ends: Growing[np.int64] = Growing(np.int64)

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        return {
            "frame": self._binaries_of.size,
            "binary": len(self._binaries),
            "source": len(self._lines),
            "stack": self._ends.size,
        }

    def add(self, gathered: Gathered, parts: Parts) -> None:
        """Add those of a block."""
        for name, uuid, arch, address, path in gathered.binaries:
            self._binaries.append((name, uuid, arch, _hexadecimal(address), path))
        if gathered.sources:
            self._lines += [_line(line) for line, _ in gathered.sources]
            self._paths.append(parts.paths)
        if gathered.frames:
            names, addresses, _, _ = zip(*gathered.frames, strict=True)
            self._names.append(pa.array(names, pa.string()))
            self._addresses.append(pa.array(map(_hexadecimal, addresses), pa.uint64()))
            self._binaries_of.extend(parts.binaries.astype(np.int32))
            self._sources_of.extend(parts.sources.astype(np.int32))
        if gathered.addresses:
            depths, members = self._with_addresses(gathered.depths, parts)
        else:
            depths, members = np.array(gathered.depths, np.int64), parts.frames
        self._ends.extend(np.cumsum(depths) + self._members.size)
        self._members.extend(members)

    def symbols(self) -> Symbols:
        """Return the symbol table of what was read so far."""
        if not self._ends.size and not self._binaries_of.size:
            return no_symbols()
        members = self._members.array.copy()
        members[members < 0] = self._binaries_of.size - 1 - members[members < 0]
        offsets = np.concatenate(([0], self._ends.array))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(members))
        frames = lists.cast(STACKS.field("frames").type)
        stacks = pa.table([pa.array(np.arange(len(lists))), frames], schema=STACKS)
        return Symbols(pa.concat_tables([self._named(), self._bare()]), stacks)

    def _with_addresses(self, depths: list[int], parts: Parts) -> tuple[Numbers, Numbers]:
        frames, bare = iter(parts.frames.tolist()), iter(parts.addresses)
        stacks = [
            self._of_addresses(next(bare))
            if depth == ADDRESSES
            else [next(frames) for _ in range(depth)]
            for depth in depths
        ]
        members = [frame for stack in stacks for frame in stack]
        return np.array([len(stack) for stack in stacks], np.int64), np.array(members, np.int64)

    def _of_addresses(self, texts: Sequence[str]) -> list[int]:
        places = self._places
        addresses = [_decimal(text) for text in texts]
        while addresses and addresses[-1] == 0:
            addresses.pop()
        return [-1 - places.setdefault(address, len(places)) for address in addresses]

    def _named(self) -> pa.Table:
        binaries, sources = _optional(self._binaries_of.array), _optional(self._sources_of.array)
        columns = {
            "frame": pa.array(np.arange(len(binaries))),
            "name": pa.chunked_array(self._names, pa.string()),
            "address": pa.chunked_array(self._addresses, pa.uint64()),
            "source": pa.chunked_array(self._paths, pa.string()).take(sources),
            "line": pa.array(self._lines, pa.int64()).take(sources),
        }
        of_binaries = ("binary", "uuid", "arch", "load_address", "path")
        values: Iterator[tuple[object, ...]] = zip(*self._binaries, strict=True)
        for name in of_binaries:
            column = pa.array(next(values, ()), FRAMES.field(name).type)
            columns[name] = column.take(binaries)
        return pa.table([columns[name] for name in FRAMES.names], schema=FRAMES)

    def _bare(self) -> pa.Table:
        first = self._binaries_of.size
        table = pa.table(
            {
                "frame": pa.array(range(first, first + len(self._places)), pa.int64()),
                "address": pa.array(self._places, pa.uint64()),
            }
        )
        missing = pa.nulls(len(self._places))
        columns = [
            table[name] if name in table.column_names else missing.cast(FRAMES.field(name).type)
            for name in FRAMES.names
        ]
        return pa.table(columns, schema=FRAMES)


def _optional(numbers: NDArray[np.int32]) -> pa.Array:
    return pa.array(numbers.copy(), mask=numbers < 0)


def _hexadecimal(text: object) -> int | None:
    return int(text, 16) if isinstance(text, str) and _HEXADECIMAL.fullmatch(text) else None


def _decimal(text: str) -> int | None:
    number = int(text) if _DECIMAL.fullmatch(text) else _MOST
    return number if number < _MOST else None


def _line(text: str | None) -> int | None:
    return int(text) if text is not None and _LINE.fullmatch(text) else None


class Definitions:
    """The values of a document, by the number in which they ended."""

    def __init__(self) -> None:
        """Begin without values."""
        self._lookup = Lookup()
        self._links: Growing[np.int32] = Growing(np.int32)
        self._texts = TextHeap()
        self._known: Growing[np.bool_] = Growing(np.bool_)
        self._pids: Growing[np.int32] = Growing(np.int32)
        self._tids: Growing[np.int32] = Growing(np.int32)
        self._stacks = Stacks()

    def read(self, gathered: Gathered) -> Numbers:
        """Take rows, all or none; return the values of their cells, by row and column.

        Raises:
            BadRowError: One repeats a value that was not defined.
        """
        found = self._lookup.find(gathered)
        self._keep(gathered, found)
        return found.cells

    def texts(self, values: Numbers) -> pa.Array:
        """Return the texts of values, null where there is no value or it has none."""
        return self._texts.take(self._valued(values))

    def cells(self, values: Numbers) -> pa.Array:
        """Return the same, as a dictionary where long texts are repeated often."""
        return self._texts.cells(self._valued(values))

    def _valued(self, values: Numbers) -> pa.Array:
        nulls = values < 0
        nulls |= ~self._known.array.take(values, mode="clip") if self._known.size else True
        return pa.array(values, mask=nulls)

    def pids(self, values: Numbers) -> pa.Array:
        """Return the pids beside processes and threads."""
        return self.texts(among(self._pids, self._numbers(values, "identity")))

    def tids(self, values: Numbers) -> pa.Array:
        """Return the tids beside threads."""
        return self.texts(among(self._tids, self._numbers(values, "identity")))

    def stacks(self, values: Numbers) -> pa.Array:
        """Return the numbers of stacks, null where no frame of it is known."""
        numbers = self._numbers(values, "stack")
        return pa.array(numbers, mask=numbers < 0)

    def symbols(self) -> Symbols:
        """Return the stacks so far."""
        return self._stacks.symbols()

    def _numbers(self, values: Numbers, kind: str) -> Numbers:
        """Return which ones of that kind values are; `NOTHING` where they are of another."""
        return np.where(self._lookup.are(values, kind), among(self._links, values), NOTHING)

    def _keep(self, gathered: Gathered, found: Found) -> None:
        self._link(gathered, found)
        self._word(gathered, found)
        texts = pa.array(gathered.texts, pa.string())
        self._known.extend(texts.is_valid().to_numpy(zero_copy_only=False))
        self._texts.extend(texts.fill_null("") if texts.null_count else texts)
        self._identify(gathered, found)
        if gathered.depths or gathered.frames or gathered.binaries or gathered.sources:
            self._stack(gathered, found)
        self._unwrap(gathered, found)

    def _link(self, gathered: Gathered, found: Found) -> None:
        links = np.full(found.codes.size, NOTHING, np.int32)
        if gathered.links:
            counts = {**self._stacks.counts, "identity": self._pids.size}
            bases = np.array([counts[kind] for kind in KINDS.values()])
            values, numbers = np.array(gathered.links, np.int64).T
            links[values] = numbers + bases.take(found.codes.take(values))
        self._lookup.codes.extend(found.codes.astype(np.int32))
        self._links.extend(links)

    def _identify(self, gathered: Gathered, found: Found) -> None:
        if not gathered.identities:
            return
        pids, tids, owners = map(found.parts, zip(*gathered.identities, strict=True))
        self._pids.extend(pids.astype(np.int32))
        self._tids.extend(tids.astype(np.int32))
        threads = np.flatnonzero(owners >= 0)
        processes = self._numbers(owners[threads], "identity")
        first = self._pids.size - pids.size
        self._pids.array[first + threads] = among(self._pids, processes)

    def _stack(self, gathered: Gathered, found: Found) -> None:
        frames = gathered.frames
        self._stacks.add(
            gathered,
            Parts(
                among(self._links, found.parts([binary for _, _, binary, _ in frames])),
                among(self._links, found.parts([source for _, _, _, source in frames])),
                among(self._links, found.parts(gathered.frames_of_stacks)),
                self.texts(found.parts([path for _, path in gathered.sources])),
                self._addresses(gathered, found),
            ),
        )

    def _addresses(self, gathered: Gathered, found: Found) -> list[list[str]]:
        flat = [part for parts in gathered.addresses for part in parts]
        texts = iter(self.texts(found.parts(flat)).to_pylist())
        return [
            [one for _ in parts for one in (next(texts) or "").split()]
            for parts in gathered.addresses
        ]

    def _unwrap(self, gathered: Gathered, found: Found) -> None:
        links = self._links.array
        for value, part in gathered.wrapped:
            (inner,) = self._numbers(found.parts([part]), "stack").tolist()
            links[found.first + value] = inner

    def _word(self, gathered: Gathered, found: Found) -> None:
        """Write the texts of stacks that follow from what they consist of."""
        if not gathered.worded:
            return
        parts = found.parts([part for _, some, _ in gathered.worded for part in some])
        old = np.where(parts < found.first, parts, NOTHING)
        older = iter(self.texts(old).to_pylist())
        values = iter(parts.tolist())
        for place, some, rest in gathered.worded:
            text = None
            for _, value, old in zip(some, values, older, strict=False):
                if text is None:
                    text = old if value < found.first else gathered.texts[value - found.first]
            gathered.texts[place] = f"{text or ''}{rest}" or gathered.texts[place]
