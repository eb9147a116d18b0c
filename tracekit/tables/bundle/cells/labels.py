"""Values as texts: processes and threads, plain values, labels made of typed parts.

Most rows of a table of the GPU have a label of their own, so labels are made a column of parts at
a time: those with the same sequence of types together. Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.cells import Flags, blocks, signed
from tracekit.tables.bundle.cells.encodings import (
    ALL_32,
    ALL_64,
    Encoding,
    EngineeringType,
    engineering_type,
)
from tracekit.tables.bundle.cells.wording import (
    NOTHING,
    PRIVATE,
    decimal,
    hexadecimal,
    joined,
    plain,
    reordered,
    uuids,
    worded,
)
from tracekit.tables.bundle.container.uniquer import Numbers, Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.names import UNKNOWN, Names, names_of

_LISTED = 5
_PARTS = 2  # of a process: pid, session; of a thread: tid, process


@dataclass(frozen=True, eq=False)
class Processes:
    """Processes: their texts, null where their pids are not `known`."""

    texts: pa.Array
    pids: Numbers
    known: Flags


@dataclass(frozen=True, eq=False)
class Threads:
    """Threads: their texts and tids, and the processes that they are of."""

    texts: pa.Array
    tids: Numbers
    known: Flags
    pids: Numbers
    owned: Flags


class Identities:
    """The processes and threads of a run, by the numbers of their arrays."""

    def __init__(self, run: BundleRun) -> None:
        """Take the run; names are looked up when the first is needed."""
        self._run = run
        self._arrays = run.arrays
        self._unnamed: dict[str, set[int]] = {"processes": set(), "threads": set()}

    def processes(self, ids: Numbers) -> Processes:
        """Return processes.

        Raises:
            BundleError: The arrays are damaged.
            DamagedCellError: There is no such array, or it is that of no process.
        """
        pids, known = _numbers(self._pairs(ids)[:, 0])
        pairs = zip(pids.tolist(), known.tolist(), strict=True)
        names = names_of(self._run) if ids.size else Names()
        texts = [names.process_with_pid(pid) if there else None for pid, there in pairs]
        self._unnamed["processes"] |= set(pids[known].tolist()) - names.processes.keys()
        return Processes(pa.array(texts, pa.string()), pids, known)

    def threads(self, ids: Numbers) -> Threads:
        """Return threads; raise what `processes` raises."""
        pairs = self._pairs(ids)
        tids, known = _numbers(pairs[:, 0])
        owners, owned = _numbers(pairs[:, 1])
        pids = np.zeros(ids.size, np.int64)
        pids[owned], alive = _numbers(self._pairs(owners[owned])[:, 0])
        owned[owned] = alive
        found = zip(tids.tolist(), pids.tolist(), (known & owned).tolist(), strict=True)
        names = names_of(self._run) if ids.size else Names()
        texts = [names.thread_with_tid(tid, pid) if there else None for tid, pid, there in found]
        self._unnamed["threads"] |= set(tids[known].tolist()) - names.threads.keys()
        self._unnamed["processes"] |= set(pids[owned].tolist()) - names.processes.keys()
        return Threads(pa.array(texts, pa.string()), tids, known, pids, owned)

    def cores(self, numbers: list[int]) -> pa.Array:
        """Return the names of cores, such as "CPU 6 (P Core)"; raise BundleError if damaged."""
        return pa.array(map(names_of(self._run).core, numbers), pa.string())

    @property
    def remarks(self) -> tuple[str, ...]:
        """How many processes and threads have been asked for that nothing in the bundle names."""
        return tuple(
            f"{len(found):,} {what} that rows name have no name in the bundle, and are called "
            f"{UNKNOWN}: {_listed(found)}"
            for what, found in self._unnamed.items()
            if found
        )

    def _pairs(self, ids: Numbers) -> NDArray[np.uint64]:
        found = self._arrays.take(ids)
        if found.lengths.size and not (found.lengths == _PARTS).all():
            raise DamagedCellError("names an array that is no process or thread")
        return found.values.reshape(-1, _PARTS)


def _listed(numbers: set[int]) -> str:
    first = ", ".join(map(str, sorted(numbers)[:_LISTED]))
    return first if len(numbers) <= _LISTED else f"{first}, …"


def _numbers(stored: NDArray[np.uint64]) -> tuple[Numbers, Flags]:
    known = stored != ALL_64
    return np.where(known, stored, 0).astype(np.int64), known


Stored = NDArray[np.uint64]

_HALF = np.uint64(32)
_LOW = np.uint64(ALL_32)
_HALVES = 2


class Values:
    """Turns stored numbers into texts. None of them may be null."""

    def __init__(self, run: BundleRun, texts: pa.Array, identities: Identities) -> None:
        """Take the run, its texts, its processes and threads."""
        self._arrays = run.arrays
        self._texts = texts
        self._identities = identities

    def worded(self, kind: EngineeringType, stored: Stored) -> pa.Array:
        """Return texts for people; null where nothing is known of a value.

        Raises:
            BundleError: The arrays are damaged.
            DamagedCellError: There is no such text or array, or it is not what it must be.
        """
        if kind.tag == "private":
            return pa.repeat(PRIVATE, stored.size)
        match kind.encoding:
            case Encoding.INTEGER if kind.tag == "core":
                return self._identities.cores(stored.tolist())
            case Encoding.INTEGER:
                return worded(kind.tag, stored)
            case Encoding.RATIO:
                return joined([plain(stored >> _HALF), plain(stored & _LOW)], "/")
            case Encoding.DECIMAL:
                return pa.array(map(decimal, signed(stored.copy()).tolist()), pa.string())
            case _:
                return self._named(kind, stored)

    def _named(self, kind: EngineeringType, stored: Stored) -> pa.Array:
        """Return the texts of values that name others: each is looked up once."""
        coded = pa.array(stored).dictionary_encode()
        found = coded.dictionary.to_numpy()
        match kind.encoding:
            case Encoding.STRING:
                texts = self.strings(found)
            case Encoding.PROCESS:
                texts = self._identities.processes(_ids(found)).texts
            case Encoding.THREAD:
                texts = self._identities.threads(_ids(found)).texts
            case Encoding.UUID:
                texts = self.uuids(_ids(found))
            case Encoding.LOCATION:
                texts = self.locations(found)
            case Encoding.THREAD_NAME:
                texts = self.thread_names(found)
            case Encoding.NUMBERS:
                texts = self.numbers(_ids(found))
            case _:
                texts = pa.nulls(found.size, pa.string())
        return texts.take(coded.indices)

    def strings(self, stored: Stored | Numbers) -> pa.Array:
        """Return the texts of these numbers; raise DamagedCellError if there is no such text."""
        if stored.size and int(stored.max()) >= len(self._texts):
            raise DamagedCellError("names a text that the bundle does not hold")
        return self._texts.take(pa.array(stored))

    def uuids(self, ids: Numbers) -> pa.Array:
        """Return UUIDs as texts; raise what `worded` raises."""
        halves = self._arrays.take(ids)
        if not (halves.lengths == _HALVES).all():
            raise DamagedCellError("names an array that is no UUID")
        return uuids(halves.values)

    def locations(self, stored: Stored) -> pa.Array:
        """Return places in binaries, such as "UUID + 0x201e64"; raise what `worded` raises."""
        images = (stored >> _HALF).astype(np.int64)
        return joined([self.uuids(images), hexadecimal(stored & _LOW)], " + ")

    def numbers(self, ids: Numbers) -> pa.Array:
        """Return arrays of numbers, with a space between them; raise what `worded` raises."""
        found = self._arrays.take(ids)
        lists = pa.ListArray.from_arrays(
            pa.array(found.offsets, pa.int32()), pa.array(found.values).cast(pa.string())
        )
        return pc.call_function("binary_join", [lists, pa.scalar(" ")])

    def thread_names(self, stored: Stored) -> pa.Array:
        """Return names of threads with their tids, either of which may be missing.

        Where both are, the text is empty. What `worded` raises is raised.
        """
        names, threads = stored >> _HALF, stored & _LOW
        texts = joined([_where(names, self.strings), _where(threads, self._tids)], "  ")
        nothing = pa.array(stored == ALL_64)
        return pc.call_function("if_else", [nothing, pa.scalar(""), texts])

    def _tids(self, stored: Stored) -> pa.Array:
        tids = self._identities.threads(stored.astype(np.int64)).tids
        return hexadecimal(tids.astype(np.uint64))


def _where(halves: Stored, texts: Callable[[Stored], pa.Array]) -> pa.Array:
    """Return the texts of halves; that of all ones is empty."""
    known = halves != _LOW
    found = texts(halves[known])
    places = np.where(known, np.cumsum(known) - 1, len(found))
    return pa.concat_arrays([found, pa.array([""])]).take(pa.array(places))


def _ids(stored: Stored) -> Numbers:
    if stored.size and int(stored.max()) > _LOW:
        raise DamagedCellError("names an array that the bundle does not hold")
    return stored.astype(np.int64)


_DEEPEST = 8
_LONGEST = 1 << 12  # parts of one label
_MOST_TEXT = 1 << 27  # of the labels that are made at once
_MOST_NESTED = 1 << 14  # calls for labels within labels
_PAIR = 2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ALL_ONES = np.uint64(ALL_64)


class Labels:
    """The labels of a run, by the numbers of their typed arrays."""

    def __init__(self, run: BundleRun, values: Values) -> None:
        """Take the run, and what turns the values of its parts into texts."""
        self._run = run
        self._values = values
        self._nested = 0

    def texts(self, ids: Numbers, depth: int = 0) -> pa.Array:
        """Return labels as texts.

        Raises:
            BundleError: The arrays are damaged.
            DamagedCellError: There is no such array, or a part is of no type, names what is not
                there, or lies too deep.
        """
        self._nested = self._nested + 1 if depth else 0
        if depth == _DEEPEST or self._nested > _MOST_NESTED:
            raise DamagedCellError("holds labels that are nested too deeply")
        parts = [self._block(ids[block], depth) for block in blocks(ids.size)]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.string())

    def single(self, ids: Numbers) -> tuple[pa.Array, frozenset[str]]:
        """Return cells of any type, each an array of one part: their texts, and their tags.

        Numbers stand as an export writes them, not as a label words them. What `texts` raises is
        raised, and DamagedCellError where there are several parts.
        """
        pairs = self.parts(ids)
        if not (pairs.lengths == _PAIR).all():
            raise DamagedCellError("names a value of several parts where one belongs")
        types, stored = pairs.values[::_PAIR], pairs.values[1::_PAIR]
        parts: list[tuple[Numbers, pa.Array]] = []
        tags: set[str] = set()
        for number in np.unique(types).tolist():
            places, kind = np.flatnonzero(types == number), self.type_of(number)
            nulls = (stored[places] == _ALL_ONES) & (not kind.wide_ones)
            known, nothing = places[~nulls], places[nulls]
            tags |= {kind.tag} if known.size else set()
            plainly = replace(kind, tag="") if kind.encoding is Encoding.INTEGER else kind
            parts += [(known, self._known(plainly, stored[known], 0))]
            parts += [(nothing, pa.nulls(nothing.size, pa.string()))] if nothing.size else []
        return reordered(parts) if parts else pa.array([], pa.string()), frozenset(tags)

    def parts(self, ids: Numbers) -> Ragged:
        """Return types and values of labels, one after the other; raise what `texts` raises."""
        found = self._run.typed_arrays.take(ids)
        lengths = found.lengths
        if lengths.size and ((lengths % _PAIR).any() or int(lengths.max()) > _PAIR * _LONGEST):
            raise DamagedCellError("names a label whose parts are not whole, or too many")
        return found

    def type_of(self, number: int) -> EngineeringType:
        """Return the type of a part by its number; raise DamagedCellError if there is none."""
        if number >= len(self._run.types):
            raise DamagedCellError("has a part of a type that the bundle does not list")
        return engineering_type(self._run.types[number], self._run.required)

    def _block(self, ids: Numbers, depth: int) -> pa.Array:
        found = self.parts(ids)
        texts = [(places, self._group(_members(found, places), depth)) for places in _groups(found)]
        return reordered(texts)

    def _group(self, members: NDArray[np.uint64], depth: int) -> pa.Array:
        """Return the labels of one sequence of types; each row of `members` is one of them."""
        columns: list[pa.Array | str] = []
        rows, size = len(members), 0
        for column in range(0, members.shape[1], _PAIR):
            texts = self._part(int(members[0, column]), members[:, column + 1], depth)
            size += len(texts) * rows if isinstance(texts, str) else texts.nbytes
            if size > _MOST_TEXT:
                raise DamagedCellError("holds labels of more text than a recording can have")
            columns.append(texts)
        same = [one for one in columns if isinstance(one, str)]
        return (
            pa.repeat(" ".join(same), rows) if len(same) == len(columns) else joined(columns, " ")
        )

    def _part(self, number: int, values: NDArray[np.uint64], depth: int) -> pa.Array | str:
        """Return the texts of a part; a `str` where all are the same."""
        kind = self.type_of(number)
        if (values == values[0]).all():
            return self._texts(kind, values[:1], depth)[0].as_py()
        return self._texts(kind, values, depth)

    def _texts(self, kind: EngineeringType, values: NDArray[np.uint64], depth: int) -> pa.Array:
        nulls = values == _ALL_ONES
        if kind.wide_ones or not nulls.any():
            found = self._known(kind, values, depth)
        else:
            known = np.flatnonzero(~nulls)
            nothing = np.flatnonzero(nulls)
            texts = self._known(kind, values[known], depth)
            found = reordered([(known, texts), (nothing, pa.repeat(NOTHING, nothing.size))])
        return found.fill_null(NOTHING) if found.null_count else found

    def _known(self, kind: EngineeringType, values: NDArray[np.uint64], depth: int) -> pa.Array:
        if kind.encoding in {Encoding.LABEL, Encoding.ANY}:
            return self.texts(as_ids(values), depth + 1)
        return self._values.worded(kind, values)


def as_ids(values: NDArray[np.uint64]) -> Numbers:
    """Return values as the numbers of arrays; raise DamagedCellError where they can be none."""
    if values.size and int(values.max()) >= 1 << 32:
        raise DamagedCellError("names what the bundle does not hold")
    return values.astype(np.int64)


def _members(found: Ragged, places: Numbers) -> NDArray[np.uint64]:
    length = int(found.lengths[places[0]])
    first = found.offsets[:-1].take(places)
    return found.values.take(first[:, None] + np.arange(length))


def _groups(found: Ragged) -> Iterator[Numbers]:
    """Yield the places of labels that have the same sequence of types."""
    keys = _keys(found)
    uniques, places = np.unique(keys, return_inverse=True)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=uniques.size))
    for group in np.split(order, ends[:-1]):
        yield from _alike(found, group)


def _keys(found: Ragged) -> NDArray[np.uint64]:
    """Return a number for each label that is the same where the sequence of types is."""
    lengths = found.lengths
    keys = lengths.astype(np.uint64)
    for column in range(0, int(lengths.max(initial=0)), _PAIR):
        longer = np.flatnonzero(lengths > column)
        types = found.values.take(found.offsets[:-1].take(longer) + column)
        keys[longer] = (keys[longer] ^ types) * _MULTIPLIER
    return keys


def _alike(found: Ragged, group: Numbers) -> Iterator[Numbers]:
    """Part a group again where different sequences happen to have the same number."""
    while group.size:
        lengths = found.lengths.take(group)
        alike = lengths == lengths[0]
        same = group[alike]
        types = _members(found, same)[:, ::_PAIR]
        equal = (types == types[0]).all(axis=1)
        yield same[equal]
        group = np.concatenate((group[~alike], same[~equal]))
