"""Values of cells to the numbers that records hold."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

from bundle_writer.engineering_types import TYPES
from bundle_writer.uniquing import Arrays, Strings
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


class Encoder:
    """What one run has stored once: strings, arrays, types; and the names it has met.

    Args:
        block: Bytes of a block of arrays.
    """

    def __init__(self, block: int = 1 << 20) -> None:
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
        chunks = (self.process(of) << 32 | self.arrays.id(places) for of, places in value.chunks)
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
