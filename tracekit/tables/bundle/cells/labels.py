"""Values as texts: plain values, processes and threads, labels made of typed parts.

Labels are texts for people: their numbers have the words of Instruments in English. Durations of a
minute and more have never been seen in a label; they stay seconds here. Most rows of a table of the
GPU have a label of their own, so labels are made a column of parts at a time: those with the same
sequence of types together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.encodings import (
    ALL_32,
    ALL_64,
    BIAS,
    UNITS,
    Encoding,
    EngineeringType,
    engineering_type,
)
from tracekit.tables.bundle.container.uniquer import Numbers, Ragged
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.names import UNKNOWN, Names
from tracekit.tables.lazy import pc
from tracekit.tables.losses import Flaw, Loss

Stored = NDArray[np.uint64]

NOTHING = "n/a"
PRIVATE = "<private>"
_SAMPLE_KINDS = {0: "Timer Fired", 2: "LPET", 3: "Stackshot"}
_EXCLUSIVE = 0xEEEEB0B5B2B2EEEE
_UNITS_OF_TIME = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))
_UNITS_OF_SIZE = (
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("Bytes", 1),
)


def _in_units(units: Sequence[tuple[str, int]], number: int) -> str:
    """Return an amount in the largest unit below it, with two decimal places.

    They are those of the float next to it: 4,025,000 ns are 4.03 ms, and 1,295,000 ns 1.29 ms.
    """
    for unit, size in units[:-1]:
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return f"{number} {units[-1][0]}"


def _moment(ns: int) -> str:
    """Return minutes, seconds, milliseconds and microseconds; nanoseconds are cut off.

    The form of an hour in Instruments is not known; minutes go on above 59.
    """
    all_millis, micros = divmod(ns // 1000, 1000)
    all_seconds, millis = divmod(all_millis, 1000)
    minutes, seconds = divmod(all_seconds, 60)
    return f"{minutes:02}:{seconds:02}.{millis:03}.{micros:03}"


def _signpost_id(number: int) -> str:
    if number == _EXCLUSIVE:
        return "OS_SIGNPOST_ID_EXCLUSIVE"
    return hex(number)


_duration = partial(_in_units, _UNITS_OF_TIME)
FMT: Mapping[str, Callable[[int], str]] = {
    "uint64": "{:,}".format,
    "duration": _duration,
    "weight": _duration,
    "duration-on-core": _duration,
    "duration-waiting": _duration,
    "start-time": _moment,
    "event-time": _moment,
    "sample-time": _moment,
    "tid": hex,
    "address": hex,
    "text-address": hex,
    "metal-command-buffer-id": hex,
    "metal-encoder-id": hex,
    "metal-workload-priority": hex,
    "mach-o-vm-offset": hex,
    "register-content": hex,
    "displayed-surface-swap": hex,
    "gpu-driver-surface": hex,
    "eight-byte-array": hex,
    "uint64-hex-lowercase": "{:x}".format,
    "os-signpost-identifier": _signpost_id,
    "size-in-bytes": partial(_in_units, _UNITS_OF_SIZE),
    "boolean": lambda number: "Yes" if number else "No",
    "time-sample-kind": lambda number: _SAMPLE_KINDS.get(number, str(number)),
    "gpu-frame-number": "Frame {}".format,
    "private": lambda _: PRIVATE,
}
"""The functions that word numbers, by tag; a number of any other type is its plain digits."""


def format_numbers(tag: str, numbers: Stored) -> pa.Array:
    """Return numbers as texts; those of an unknown tag as plain digits."""
    words = FMT.get(tag)
    if words is None:
        return pa.array(numbers).cast(pa.string())
    texts = map(words, numbers.tolist())
    return pa.array(texts, pa.string())


def decimal(scaled: int) -> str:
    """Return a number in units of 10^-9 with all its nine places."""
    sign = "-" if scaled < 0 else ""
    integer_part, fraction = divmod(abs(scaled), UNITS)
    return f"{sign}{integer_part}.{fraction:09d}"


def join_texts(parts: Sequence[pa.Array | str], separator: str) -> pa.Array:
    """Join texts, cell by cell; a `str` is repeated in each cell."""
    arguments = [pa.scalar(part) if isinstance(part, str) else part for part in parts]
    arguments.append(pa.scalar(separator))
    return pc.call_function("binary_join_element_wise", arguments)


def restore_order(parts: Sequence[tuple[NDArray[np.int64], pa.Array]]) -> pa.Array:
    """Return texts in the order of the places they were taken from; parts are places and texts."""
    if len(parts) == 1:
        [(_, texts)] = parts
        return texts
    places = np.concatenate([place for place, _ in parts])
    order = np.empty(places.size, np.int64)
    order[places] = np.arange(places.size)
    all_texts = pa.concat_arrays([texts for _, texts in parts])
    return all_texts.take(pa.array(order))


_BLOCK = 1 << 17


def decode_signed(raw: Stored) -> NDArray[np.int64]:
    """Return numbers that are stored with an offset of 2^63 - 1; `raw` is void afterwards."""
    raw -= np.uint64(BIAS)
    return raw.view(np.int64)


def blocks(size: int) -> Iterator[slice]:
    """Yield the slices of a column that are handled at once."""
    for start in range(0, size, _BLOCK):
        yield slice(start, min(start + _BLOCK, size))


_HALF = np.uint64(32)
_LOW = np.uint64(ALL_32)


class RunIdentities:
    """The processes and threads of a run, by the numbers of their arrays."""

    def __init__(self, run: BundleRun) -> None:
        self._run = run
        self._unnamed: dict[str, set[int]] = {"processes": set(), "threads": set()}
        self._asked = False

    def processes(self, ids: Numbers) -> tuple[pa.Array, pa.Array]:
        """Return the texts of processes and their pids; an unknown one is null."""
        pairs = self._pairs(ids)
        pids = _integers(pairs[:, 0])
        self._asked |= bool(ids.size)
        names = self._run.names if ids.size else Names()
        distinct_pids = set(pids.to_pylist())
        unnamed_pids = distinct_pids - {None, *names.processes}
        self._unnamed["processes"] |= unnamed_pids
        texts = [None if pid is None else names.process_with_pid(pid) for pid in pids.to_pylist()]
        return pa.array(texts, pa.string()), pids

    def threads(self, ids: Numbers) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return the texts of threads, their tids, and the pids of their processes."""
        pairs = self._pairs(ids)
        tids = _integers(pairs[:, 0])
        owned = pairs[:, 1] != ALL_64
        process_ids = _ids(pairs[owned, 1])
        _, owners = self.processes(process_ids)
        owned_places = np.cumsum(owned) - 1
        places = pa.array(owned_places, mask=~owned)
        pids = owners.take(places)
        self._asked |= bool(ids.size)
        names = self._run.names if ids.size else Names()
        distinct_tids = set(tids.to_pylist())
        unnamed_tids = distinct_tids - {None, *names.threads}
        self._unnamed["threads"] |= unnamed_tids
        texts: list[str | None] = []
        identities = zip(tids.to_pylist(), pids.to_pylist(), strict=True)
        for tid, pid in identities:
            if tid is None or pid is None:
                texts.append(None)
            else:
                texts.append(names.thread_with_tid(tid, pid))
        return pa.array(texts, pa.string()), tids, pids

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of names that were requested so far."""
        losses: list[Loss] = []
        for kind, unnamed_ids in self._unnamed.items():
            if unnamed_ids:
                text = (
                    f"{len(unnamed_ids):,} {kind} that rows name have no name in the bundle, and "
                    f"are called {UNKNOWN}."
                )
                losses.append(Loss(Flaw.UNSURE, text, run=self._run.number))
        if self._asked:
            losses += self._run.names.losses
        return tuple(losses)

    def _pairs(self, ids: Numbers) -> Stored:
        return self._run.arrays.take(ids).pairs("process or thread")


def _integers(stored: Stored) -> pa.Array:
    is_null = stored == ALL_64
    return pa.array(stored.view(np.int64), mask=is_null)


class Values:
    """A converter of stored numbers to texts. None of the numbers may be null."""

    def __init__(self, run: BundleRun) -> None:
        self._run = run
        self.identities = RunIdentities(run)

    def format_values(self, kind: EngineeringType, stored: Stored) -> pa.Array:
        """Return texts for people; the text of an unknown value is null."""
        if kind.tag == "private":
            return pa.repeat(PRIVATE, stored.size)
        match kind.encoding:
            case Encoding.INTEGER if kind.tag == "core":
                return pa.array(map(self._run.names.core, stored.tolist()), pa.string())
            case Encoding.INTEGER:
                return format_numbers(kind.tag, stored)
            case Encoding.RATIO:
                upper_halves = format_numbers("", stored >> _HALF)
                lower_halves = format_numbers("", stored & _LOW)
                return join_texts([upper_halves, lower_halves], "/")
            case Encoding.DECIMAL:
                return pa.array(map(decimal, decode_signed(stored.copy()).tolist()), pa.string())
            case _:
                coded = pa.array(stored).dictionary_encode()
                texts = self.look_up_texts(kind.encoding, coded.dictionary.to_numpy())
                return texts.take(coded.indices)

    def look_up_texts(self, encoding: Encoding, stored: Stored) -> pa.Array:
        """Return the texts of values that refer to others; raise as `format_values` does."""
        match encoding:
            case Encoding.STRING:
                texts = self._strings(stored)
            case Encoding.PROCESS:
                texts, _ = self.identities.processes(_ids(stored))
            case Encoding.THREAD:
                texts, _, _ = self.identities.threads(_ids(stored))
            case Encoding.UUID:
                uuids: list[str] = []
                halves = self._run.arrays.take(_ids(stored)).pairs("UUID").tolist()
                for upper_half, lower_half in halves:
                    uuid = UUID(int=upper_half << 64 | lower_half)
                    uuids.append(str(uuid).upper())
                texts = pa.array(uuids, pa.string())
            case Encoding.LOCATION:
                images = self.look_up_texts(Encoding.UUID, stored >> _HALF)
                offsets = format_numbers("mach-o-vm-offset", stored & _LOW)
                texts = join_texts([images, offsets], " + ")
            case Encoding.THREAD_NAME:
                texts = self._thread_names(stored >> _HALF, stored & _LOW)
            case Encoding.NUMBERS:
                arrays = self._run.arrays.take(_ids(stored))
                list_offsets = pa.array(arrays.offsets, pa.int32())
                item_texts = format_numbers("", arrays.values)
                lists = pa.ListArray.from_arrays(list_offsets, item_texts)
                texts = pc.call_function("binary_join", [lists, pa.scalar(" ")])
            case _:
                texts = pa.nulls(stored.size, pa.string())
        return texts

    @cached_property
    def texts(self) -> pa.Array:
        """The texts of the run; raise BundleError if they are damaged."""
        return pa.array(self._run.strings, pa.string())

    def _strings(self, stored: Stored) -> pa.Array:
        if stored.size and int(stored.max()) >= len(self.texts):
            raise ArchiveError("names a text that the bundle does not hold")
        return self.texts.take(pa.array(stored))

    def _thread_names(self, names: Stored, threads: Stored) -> pa.Array:
        """Return names of threads with their tids; the text is empty if both are missing."""
        has_name = names != _LOW
        has_thread = threads != _LOW
        strings = self._strings(names[has_name])
        texts = iter(strings.to_pylist())
        thread_ids = _ids(threads[has_thread])
        _, tid_array, _ = self.identities.threads(thread_ids)
        tids = iter(tid_array.to_pylist())
        words: list[str] = []
        named_rows = zip(has_name.tolist(), has_thread.tolist(), strict=True)
        for is_named, is_thread in named_rows:
            text = next(texts) if is_named else ""
            tid = ""
            if is_thread:
                tid = hex(next(tids) or 0)
            words.append(f"{text}  {tid}" if is_named or is_thread else "")
        return pa.array(words, pa.string())


def _ids(values: Stored) -> Numbers:
    """Return values as the numbers of arrays; raise ArchiveError if they are too large."""
    if values.size and int(values.max()) > ALL_32:
        raise ArchiveError("names an array that the bundle does not hold")
    return values.astype(np.int64)


_DEEPEST = 8
_LONGEST = 1 << 12  # parts of one label
_MOST_TEXT = 1 << 27  # of the labels that are made at once
_MOST_NESTED = 1 << 14  # calls for labels within labels
_PAIR = 2
_ALL_ONES = np.uint64(ALL_64)


class Labels:
    """The labels of a run, by the numbers of their typed arrays."""

    def __init__(self, run: BundleRun, values: Values) -> None:
        self._run = run
        self._values = values
        self._nested = 0

    def texts(self, ids: Numbers, depth: int = 0) -> pa.Array:
        """Return labels as texts."""
        if depth:
            self._nested += 1
        else:
            self._nested = 0
        if depth == _DEEPEST or self._nested > _MOST_NESTED:
            raise ArchiveError("holds labels that are nested too deeply")
        parts = [self._block(ids[block], depth) for block in blocks(ids.size)]
        if parts:
            return pa.concat_arrays(parts)
        return pa.array([], pa.string())

    def single(self, ids: Numbers) -> tuple[pa.Array, frozenset[str]]:
        """Return cells of any type, each an array of one part: their texts, and their tags.

        Numbers are written as in an export, not as in a label. Raises as `texts` does, and
        ArchiveError if there are several parts.
        """
        pairs = self._parts(ids)
        if not (pairs.lengths == _PAIR).all():
            raise ArchiveError("names a value of several parts instead of one")
        types = pairs.values[::_PAIR]
        stored = pairs.values[1::_PAIR]
        parts: list[tuple[Numbers, pa.Array]] = []
        tags: set[str] = set()
        for number in np.unique(types).tolist():
            places = np.flatnonzero(types == number)
            kind = self._type_of(number)
            values = stored[places]
            if kind.wide_ones or (values != _ALL_ONES).any():
                tags.add(kind.tag)
            if kind.encoding is Encoding.INTEGER:
                kind = replace(kind, tag="", all_ones=kind.wide_ones)
            formatted = self._format_parts(kind, values, 0)
            parts.append((places, formatted))
        texts = pa.array([], pa.string())
        if parts:
            texts = restore_order(parts)
        return texts, frozenset(tags)

    def _parts(self, ids: Numbers) -> Ragged:
        """Return types and values of labels, one after the other."""
        parts = self._run.typed_arrays.take(ids)
        lengths = parts.lengths
        has_odd = bool((lengths % _PAIR).any())
        longest = int(lengths.max(initial=0))
        if has_odd or longest > _PAIR * _LONGEST:
            raise ArchiveError("names a label whose parts are not whole, or too many")
        return parts

    def _type_of(self, number: int) -> EngineeringType:
        if number >= len(self._run.types):
            raise ArchiveError("has a part of a type that the bundle does not list")
        stored_type = self._run.types[number]
        return engineering_type(stored_type, self._run.required)

    def _block(self, ids: Numbers, depth: int) -> pa.Array:
        parts: list[tuple[Numbers, pa.Array]] = []
        for places, members in _groups(self._parts(ids)):
            texts = self._group(members, depth)
            parts.append((places, texts))
        return restore_order(parts)

    def _group(self, members: Stored, depth: int) -> pa.Array:
        """Return the labels of one sequence of types; each row of `members` is one of them."""
        columns: list[pa.Array | str] = []
        rows = len(members)
        size = 0
        for column in range(0, members.shape[1], _PAIR):
            first_member = int(members[0, column])
            kind = self._type_of(first_member)
            values = members[:, column + 1]
            if (values == values[0]).all():
                texts = self._format_parts(kind, values[:1], depth).fill_null(NOTHING)
                constant_text = texts[0].as_py()
                columns.append(constant_text)
                size += len(constant_text) * rows
            else:
                texts = self._format_parts(kind, values, depth).fill_null(NOTHING)
                columns.append(texts)
                size += texts.nbytes
            if size > _MOST_TEXT:
                raise ArchiveError("holds labels of more text than a recording can have")
        words = [part for part in columns if isinstance(part, str)]
        if len(words) == len(columns):
            return pa.repeat(" ".join(words), rows)
        return join_texts(columns, " ")

    def _format_parts(self, kind: EngineeringType, values: Stored, depth: int) -> pa.Array:
        """Return the texts of parts; those of null and unknown parts are null."""
        there = (values != _ALL_ONES) | kind.wide_ones
        present_values = values[there]
        if kind.encoding in {Encoding.LABEL, Encoding.ANY}:
            texts = self.texts(_ids(present_values), depth + 1)
        else:
            texts = self._values.format_values(kind, present_values)
        if present_values.size == values.size:
            return texts
        text_places = np.cumsum(there) - 1
        return texts.take(pa.array(text_places, mask=~there))


def _groups(parts: Ragged) -> Iterator[tuple[Numbers, Stored]]:
    """Yield places and members of the labels that have the same sequence of types, as rows."""
    lengths = parts.lengths
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        starts = parts.offsets[places]
        member_places = starts[:, None] + np.arange(length)
        members = parts.values.take(member_places)
        # The types of a label are one key: the bytes of its types, one after the other.
        types = np.ascontiguousarray(members[:, ::_PAIR])
        key_type = pa.binary(length // _PAIR * 8)
        buffers = [None, pa.py_buffer(types)]
        keys = pa.Array.from_buffers(key_type, places.size, buffers)
        codes = keys.dictionary_encode().indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        group_ends = np.cumsum(np.bincount(codes))
        for group in np.split(order, group_ends[:-1]):
            yield places[group], members[group]
