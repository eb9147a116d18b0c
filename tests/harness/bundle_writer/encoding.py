"""Values of cells to the numbers that records hold; strings and arrays are kept once each.

Layout: docs/explanation/trace-bundles.md.
"""

import struct
import zlib
from array import array
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bundle_writer.engineering_types import TYPES
from bundle_writer.values import (
    Backtrace,
    Callstack,
    Label,
    Part,
    Process,
    TextSymbol,
    Thread,
    ThreadName,
    Value,
)

BIAS = (1 << 63) - 1
_ALL_32, _ALL_64 = (1 << 32) - 1, (1 << 64) - 1


BLOCK = 1 << 20
_HEAD = struct.pack("<5I", 0x01234567, 0x000A337E, 1, 0, 1)
_FIRST = 0x20


class Strings:
    """Texts by their numbers; the empty one is the first."""

    def __init__(self) -> None:
        self.ids = {"": 0}

    def id(self, text: str) -> int:
        return self.ids.setdefault(text, len(self.ids))


class Arrays:
    """Arrays of unsigned 64-bit numbers by their ids; no array crosses the end of a block."""

    def __init__(self, block: int = BLOCK) -> None:
        self._size = block
        self._blocks = [bytearray(_HEAD.ljust(_FIRST, b"\0"))]
        self._index = array("I")
        self._ids: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self._index) // 2

    def id(self, values: Sequence[int]) -> int:
        key = tuple(values)
        if key not in self._ids:
            self._ids[key] = self.append(key)
        return self._ids[key]

    def append(self, values: Sequence[int]) -> int:
        content = struct.pack(f"<I{len(values)}Q", len(values), *values)
        if len(content) > self._size - _FIRST:
            raise ValueError("an array larger than a block")
        if len(self._blocks[-1]) + len(content) > self._size:
            self._blocks.append(bytearray())
        self._index.extend((len(self._blocks[-1]), len(self._blocks) - 1))
        self._blocks[-1] += content
        return len(self) - 1

    def extend(self, values: NDArray[np.uint64]) -> int:
        """Add arrays of one length, the rows of a matrix; return the id of the first."""
        first_id, count = len(self), values.shape[1]
        rows = np.empty(len(values), np.dtype([("n", "<u4"), ("values", "<u8", (count,))]))
        rows["n"], rows["values"] = count, values
        while len(rows):
            fit = (self._size - len(self._blocks[-1])) // rows.itemsize
            if fit == 0:
                self._blocks.append(bytearray())
                continue
            fitting_rows, rows = rows[:fit], rows[fit:]
            offsets = len(self._blocks[-1]) + np.arange(len(fitting_rows)) * rows.itemsize
            pairs = np.column_stack([offsets, np.full(len(fitting_rows), len(self._blocks) - 1)])
            self._index.frombytes(pairs.astype("<u4").tobytes())
            self._blocks[-1] += fitting_rows.tobytes()
        return first_id

    def repeat(self, times: int) -> None:
        """List all arrays so many times, each time by other ids, as no recording does."""
        self._index *= times

    def write(self, folder: Path) -> None:
        data = b"".join(bytes(block).ljust(self._size, b"\0") for block in self._blocks)
        head = _HEAD + struct.pack("<IIIQ", 0, 0x00400000, self._size, 0)
        folder.mkdir(parents=True)
        for name, content in (("data", data), ("index", head + self._index.tobytes())):
            (folder / f"integeruniquer.{name}").write_bytes(zlib.compress(content, 1))


class Encoder:
    """What one run has stored once: strings, arrays, types; and the names it has met.

    Args:
        block: Bytes of a block of arrays.
    """

    def __init__(self, block: int = BLOCK) -> None:
        self.strings = Strings()
        self.arrays = Arrays(block)
        self.typed_arrays = Arrays(block)
        self.types = {type_id: number for number, type_id in enumerate(TYPES)}
        self.processes: dict[int, Process] = {}
        self.threads: dict[int, Thread] = {}
        self.used: set[str] = set()
        self._known: dict[tuple[str, Any], int] = {}
        self._by_kind: dict[str, Callable[[Any], int]] = {
            "string": self.strings.id,
            "number": int,
            "ratio": lambda value: value[0] << 32 | value[1],
            "decimal": lambda value: int(Decimal(value).scaleb(9).to_integral_exact()) + BIAS,
            "process": self.process,
            "thread": self.thread,
            "thread-name": self._thread_name,
            "uuid": self._uuid,
            "location": lambda value: self._uuid(value.image) << 32 | value.offset,
            "label": self.label,
            "numbers": self.arrays.id,
            "callstack": self._callstack,
            "backtrace": self._backtrace,
            "text-symbol": self._text_symbol,
            "any": lambda value: self.typed_arrays.id(self._pair(value)),
        }

    def cell(self, type_id: str, value: Value) -> int:
        """Return the number that stands for a value in a column of that type."""
        kind = TYPES[type_id]
        self.used.add(type_id)
        if value is None:
            return kind.null
        key = (type_id, value)
        if key not in self._known:
            self._known[key] = self._by_kind[kind.kind](value)
        return self._known[key]

    def process(self, value: Process | None) -> int:
        if value is None:
            return _ALL_32
        if value.pid is not None and value.name:
            self.processes.setdefault(value.pid, value)
        return self.arrays.id((_wide(value.pid), _wide(value.session, self.strings.id)))

    def thread(self, value: Thread | None) -> int:
        if value is None:
            return _ALL_32
        if value.tid is not None and value.name:
            self.threads.setdefault(value.tid, value)
        return self.arrays.id((_wide(value.tid), _wide(value.process, self.process)))

    def label(self, value: Label) -> int:
        return self.typed_arrays.id([*chain.from_iterable(map(self._pair, value.parts))])

    def _thread_name(self, value: ThreadName) -> int:
        text = _ALL_32 if value.text is None else self.strings.id(value.text)
        return text << 32 | self.thread(value.thread)

    def _uuid(self, value: UUID) -> int:
        return self.arrays.id((value.int >> 64, value.int & _ALL_64))

    def _callstack(self, value: Callstack) -> int:
        fragment = _wide(value.returns, self.arrays.id)
        process = _wide(value.process, self.process)
        return self.arrays.id((fragment, _wide(value.pc), process, *value.registers))

    def _backtrace(self, value: Backtrace) -> int:
        chunks = (
            self.process(owner) << 32 | self.arrays.id(places) for owner, places in value.chunks
        )
        return self.arrays.id([*chunks])

    def _text_symbol(self, value: TextSymbol) -> int:
        return self.arrays.id((_wide(value.process, self.process), value.address))

    def type_number(self, type_id: str) -> int:
        return self.types.setdefault(type_id, len(self.types))

    def _pair(self, part: Part) -> tuple[int, int]:
        value = _wide(part.value, partial(self.cell, part.type_id))
        return self.type_number(part.type_id), value


def _wide(value: Any, number: Callable[[Any], int] = int) -> int:
    """Return the number that stands for a member of an array: all ones for None."""
    return _ALL_64 if value is None else number(value)
