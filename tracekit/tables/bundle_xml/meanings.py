"""What the numbers of a bundle mean, as the elements of an export say it.

Texts are made, and arrays looked up, one by one, since a file holds each value once. Which type has
which words stands in `bundle/cells/wording.py`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import pairwise

import numpy as np

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.encodings import (
    ALL_32,
    ALL_64,
    BIAS,
    Encoding,
    EngineeringType,
    Evidence,
    engineering_type,
)
from tracekit.tables.bundle.cells.wording import FMT, NOTHING, decimal, uuid_words
from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.stacks.frames import NO_BINARY, Frames, names_at
from tracekit.tables.bundle.stacks.images import RunPlaces
from tracekit.tables.bundle.stacks.stacks import NO_PROCESS, callstack_words

Value = tuple[str, int]
"""A type, and the number that a record or an array holds for a value of it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an element says: its tag, its words and other attributes, its text, what it holds."""

    tag: str
    fmt: str | None = None
    text: str = ""
    children: tuple[Value, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()


MeaningOf = Callable[[str, int], Meaning | Value | None]
"""What a value of a type means: an element, the value of another type, or nothing."""

FRAME, BINARY = "frame", "binary"


class FrameMeanings:
    """The frames of one run, and their binaries, by numbers of their own."""

    def __init__(self, places: RunPlaces) -> None:
        self._places = places
        self._frames = Frames(places)

    def of(self, pids: Sequence[int], addresses: Sequence[int], time: int) -> tuple[Value, ...]:
        """Return the frames of a stack that was taken at a time (ns), the innermost first."""
        count = len(addresses)
        numbers = self._frames.number(
            np.array(addresses, np.uint64),
            np.array(pids, np.int64),
            np.full(count, time, np.int64),
            np.arange(count) == 0,
        )
        return tuple((FRAME, number) for number in numbers.tolist())

    def name(self, pid: int, address: int, time: int) -> str:
        """Return the name of an address that stands for itself: of its symbol, or its digits."""
        here = np.array([pid], np.int64), np.array([address], np.uint64), np.array([time], np.int64)
        (name,) = names_at(self._places, *here)
        return name

    def meaning(self, tag: str, number: int) -> Meaning:
        """Return what the element of a frame or a binary says, by its number."""
        if tag == BINARY:
            binary = self._places.binaries[number]
            load = None if binary.load_address is None else hex(binary.load_address)
            said = {
                "name": binary.name,
                "UUID": binary.uuid,
                "arch": binary.arch,
                "load-addr": load,
                "path": binary.path,
            }
            attributes = tuple((name, value) for name, value in said.items() if value)
            return Meaning(BINARY, attributes=attributes)
        address, of, name = self._frames.keys[number]
        children = () if of == NO_BINARY else ((BINARY, of),)
        return Meaning(
            FRAME, children=children, attributes=(("name", name), ("addr", hex(address)))
        )


_AT_ONCE = 1 << 10
_BLOCKS_KEPT = 64  # blocks of so many arrays; what a file asks for lies close together


class Members:
    """The members of arrays by their numbers; neighbours are read together."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._block = lru_cache(_BLOCKS_KEPT)(self._read)

    def of(self, number: int) -> tuple[int, ...]:
        """Return the members of an array; raise DamagedCellError if there is no such array."""
        if number >= len(self._arrays):
            raise DamagedCellError("names an array that the bundle does not hold")
        return self._block(number // _AT_ONCE)[number % _AT_ONCE]

    def of_length(self, number: int, count: int, *, longer: bool = False) -> tuple[int, ...]:
        """Return the members of an array that has `count`, or more if it may be `longer`."""
        members = self.of(number)
        if len(members) != count and not (longer and len(members) > count):
            raise DamagedCellError("names an array of another length than its type has")
        return members

    def _read(self, block: int) -> list[tuple[int, ...]]:
        first = block * _AT_ONCE
        found = self._arrays.take(np.arange(first, min(first + _AT_ONCE, len(self._arrays))))
        values, offsets = found.values.tolist(), found.offsets.tolist()
        return [tuple(values[start:end]) for start, end in pairwise(offsets)]


_TAG = re.compile(r"[A-Za-z][A-Za-z0-9-]*", re.ASCII)


def writable_type(type_id: str, required: Requirements) -> EngineeringType:
    """Return what is known of a type; of one whose tag can be no element's, nothing."""
    known = engineering_type(type_id, required)
    return known if _TAG.fullmatch(known.tag) else replace(known, encoding=Encoding.UNKNOWN)


_DEEPEST = 8
_LONGEST = 1 << 20  # letters of a label
_MOST_FRAMES = 1 << 16
_KEPT = 1 << 14
_PROCESS, _PID, _SESSION = "XRProcess", "XRProcessID", "XRDeviceSession"
_THREAD, _TID = "XRThread", "XRThreadID"
_STRING, _UUID = "XRPrototypeString", "XRUUID"
_ADDRESS, _REGISTER = "XRTextSegmentAddress", "XRRegisterContents"
# Elements that stand only within others, and have no type of their own in a bundle.
_ADDRESSES, _HALF, _OFFSET = "text-addresses", "eight-byte-array", "mach-o-vm-offset"
_RATIO_FIELD = "mach-timebase-info-field"
_NESTED = frozenset({_ADDRESSES, _HALF, _OFFSET, _RATIO_FIELD, FRAME, BINARY})


class UnwritableError(ValueError):
    """A value that an export cannot say, because its encoding is not known."""


class Meanings:
    """The meanings of one run's values."""

    def __init__(self, run: BundleRun) -> None:
        self._run = run
        self._names = run.names
        self._frames = FrameMeanings(RunPlaces(run))
        self.moment = 0
        self._arrays = Members(run.arrays)
        self._typed = Members(run.typed_arrays)
        self.type = cache(partial(writable_type, required=run.required))
        self._worded = lru_cache(_KEPT)(self.words)
        self._depth = 0
        self._by_encoding: dict[Encoding, Callable[[EngineeringType, int], Meaning | Value]] = {
            Encoding.STRING: self._string,
            Encoding.INTEGER: self._integer,
            Encoding.RATIO: self._ratio,
            Encoding.DECIMAL: self._decimal,
            Encoding.PROCESS: self._process,
            Encoding.THREAD: self._thread,
            Encoding.THREAD_NAME: self._thread_name,
            Encoding.UUID: self._uuid,
            Encoding.LOCATION: self._location,
            Encoding.LABEL: self._label,
            Encoding.ANY: self._any,
            Encoding.NUMBERS: self._numbers,
            Encoding.CALLSTACK: self._callstack,
            Encoding.BACKTRACE: self._backtrace,
            Encoding.TEXT_SYMBOL: self._text_symbol,
        }

    def of(self, type_id: str, value: int) -> Meaning | Value | None:
        """Return the meaning of a value of a type, None for no value."""
        if type_id in _NESTED:
            return self._nested(type_id, value)
        kind = self.type(type_id)
        if value == ALL_64 and not kind.wide_ones:
            return None
        return self._by_encoding.get(kind.encoding, self._unknown)(kind, value)

    def words(self, type_id: str, value: int) -> str:
        """Return what `fmt` says of a value, also of none."""
        if self._depth >= _DEEPEST:
            raise DamagedCellError(f"has labels within labels, more than {_DEEPEST} deep")
        self._depth += 1
        try:
            meaning = self.of(type_id, value)
            while isinstance(meaning, tuple):
                meaning = self.of(*meaning)
        finally:
            self._depth -= 1
        return NOTHING if meaning is None else meaning.fmt or ""

    def _nested(self, tag: str, value: int) -> Meaning | None:
        if value == ALL_64 and tag == _ADDRESSES:
            return None
        if tag in (FRAME, BINARY):
            return self._frames.meaning(tag, value)
        if tag == _ADDRESSES:
            addresses = " ".join(map(str, self._arrays.of(value)))
            return Meaning(tag, f"frag {value}", addresses)
        return Meaning(tag, FMT.get(tag, str)(value), str(value))

    def _string(self, kind: EngineeringType, value: int) -> Meaning:
        if kind.tag == "private":
            return self._integer(kind, value)
        text = self._text(value)
        return Meaning(kind.tag, text, text)

    def _text(self, number: int) -> str:
        if number < len(self._run.strings):
            return self._run.strings[number]
        raise DamagedCellError("names a text that the bundle does not hold")

    def _integer(self, kind: EngineeringType, value: int) -> Meaning:
        if kind.evidence is Evidence.RAW:
            return self._unknown(kind, value)
        if kind.tag == "core":
            return Meaning(kind.tag, self._names.core(value), str(value))
        words = FMT.get(kind.tag, str)
        return Meaning(kind.tag, words(value), str(value))

    def _ratio(self, kind: EngineeringType, value: int) -> Meaning:
        above, below = divmod(value, 1 << 32)
        children = ((_RATIO_FIELD, above), (_RATIO_FIELD, below))
        return Meaning(kind.tag, f"{above}/{below}", children=children)

    def _decimal(self, kind: EngineeringType, value: int) -> Meaning:
        text = decimal(value - BIAS)
        return Meaning(kind.tag, text, text)

    def _process(self, kind: EngineeringType, value: int) -> Meaning:
        pid, session = self._arrays.of_length(value, 2)
        return Meaning(
            kind.tag,
            self._names.process_with_pid(pid),
            children=((_PID, pid), (_SESSION, session)),
        )

    def _thread(self, kind: EngineeringType, value: int) -> Meaning:
        tid, process = self._arrays.of_length(value, 2)
        children = ((_TID, tid), (_PROCESS, process))
        if process == ALL_64:
            return Meaning(kind.tag, f"Unknown {tid:#x}", children=children)
        pid = self._pid(process)
        return Meaning(kind.tag, self._names.thread_with_tid(tid, pid), children=children)

    def _thread_name(self, kind: EngineeringType, value: int) -> Meaning:
        text, thread = (ALL_64 if one == ALL_32 else one for one in divmod(value, 1 << 32))
        words = "" if text == ALL_64 else self._text(text)
        tid = "" if thread == ALL_64 else f"{self._arrays.of_length(thread, 2)[0]:#x}"
        children = ((_STRING, text), (_THREAD, thread))
        fmt = None if text == thread == ALL_64 else f"{words}  {tid}"
        return Meaning(kind.tag, fmt, children=children)

    def _uuid(self, kind: EngineeringType, value: int) -> Meaning:
        halves = self._arrays.of_length(value, 2)
        children = tuple((_HALF, half) for half in halves)
        return Meaning(kind.tag, self._uuid_words(value), children=children)

    def _location(self, kind: EngineeringType, value: int) -> Meaning:
        uuid, offset = divmod(value, 1 << 32)
        fmt = f"{self._uuid_words(uuid)} + {offset:#x}"
        return Meaning(kind.tag, fmt, children=((_UUID, uuid), (_OFFSET, offset)))

    def _uuid_words(self, value: int) -> str:
        return uuid_words(*self._arrays.of_length(value, 2))

    def _label(self, kind: EngineeringType, value: int) -> Meaning:
        parts = self._parts(value)
        letters, words = 0, list[str]()
        for part in parts:
            words.append(self._worded(*part))
            letters += len(words[-1])
            if letters > _LONGEST:
                raise DamagedCellError(f"has a label of more than {_LONGEST:,} letters")
        return Meaning(kind.tag, " ".join(words), children=parts)

    def _any(self, _kind: EngineeringType, value: int) -> Value:
        parts = self._parts(value)
        if len(parts) != 1 or self.type(parts[0][0]).encoding is Encoding.ANY:
            raise DamagedCellError("has a cell of any type that is not one value")
        return parts[0]

    def _parts(self, value: int) -> tuple[Value, ...]:
        members, types = self._typed.of(value), self._run.types
        if len(members) % 2 or any(member >= len(types) for member in members[::2]):
            raise DamagedCellError("has a label whose parts have no type")
        pairs = zip(members[::2], members[1::2], strict=True)
        return tuple((types[number], part) for number, part in pairs)

    def _numbers(self, kind: EngineeringType, value: int) -> Meaning:
        numbers = self._arrays.of(value)
        return Meaning(
            kind.tag,
            ", ".join(f"({number:,})" for number in numbers),
            " ".join(map(str, numbers)),
        )

    def _callstack(self, kind: EngineeringType, value: int) -> Meaning:
        fragment, pc, process, *registers = self._arrays.of_length(value, 3, longer=True)
        count = 0 if fragment == ALL_64 else len(self._arrays.of(fragment))
        words = callstack_words(
            None if pc == ALL_64 else pc, count, len(registers), self._owner(process)
        )
        children: list[Value] = [(_ADDRESSES, fragment), (_ADDRESS, pc), (_PROCESS, process)]
        children += [(_REGISTER, register) for register in registers]
        return Meaning(kind.tag, words, children=tuple(children))

    def _backtrace(self, kind: EngineeringType, value: int) -> Meaning:
        pids, addresses = list[int](), list[int]()
        for chunk in self._arrays.of(value):
            process, members = divmod(chunk, 1 << 32)
            found = self._arrays.of(members)
            pids += [self._owner(process)] * len(found)
            addresses += found
            if len(addresses) > _MOST_FRAMES:
                raise DamagedCellError(f"has a stack of more than {_MOST_FRAMES:,} frames")
        return Meaning(kind.tag, children=self._frames.of(pids, addresses, self.moment))

    def _text_symbol(self, kind: EngineeringType, value: int) -> Meaning:
        process, address = self._arrays.of_length(value, 2)
        children = ((_PROCESS, process), (_ADDRESS, address))
        name = self._frames.name(self._owner(process), address, self.moment)
        return Meaning(kind.tag, f"{name}  ", children=children)

    def _owner(self, process: int) -> int:
        return NO_PROCESS if process in (ALL_32, ALL_64) else self._pid(process)

    def _pid(self, process: int) -> int:
        return self._arrays.of_length(process, 2)[0]

    def _unknown(self, kind: EngineeringType, _value: int) -> Meaning:
        raise UnwritableError(f"how values of {kind.tag or kind.type_id} are stored is not known")
