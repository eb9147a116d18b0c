"""Values of cells to the numbers that records hold."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from bundle_writer.engineering_types import TYPES, EngineeringType
from bundle_writer.uniquing import Arrays, Strings
from bundle_writer.values import (
    Backtrace,
    Callstack,
    Label,
    Location,
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
        self._by_kind: dict[str, Callable[[EngineeringType, Any], int]] = {
            "string": lambda _, value: self.strings.id(value),
            "number": lambda _, value: int(value),
            "ratio": lambda _, value: value[0] << 32 | value[1],
            "decimal": lambda _, value: int(Decimal(value).scaleb(9).to_integral_exact()) + BIAS,
            "process": lambda _, value: self.process(value),
            "thread": lambda _, value: self.thread(value),
            "thread-name": lambda _, value: self.thread_name(value),
            "uuid": lambda _, value: self.uuid(value),
            "location": lambda _, value: self.location(value),
            "label": lambda _, value: self.label(value),
            "numbers": lambda _, value: self.arrays.id(value),
            "callstack": lambda _, value: self.callstack(value),
            "backtrace": lambda _, value: self.backtrace(value),
            "text-symbol": lambda _, value: self.text_symbol(value),
            "any": lambda _, value: self.typed_arrays.id(self._pair(value)),
        }

    def cell(self, type_id: str, value: Value) -> int:
        """Return the number that stands for a value in a column of that type."""
        kind = TYPES[type_id]
        self.used.add(type_id)
        if value is None:
            return kind.null
        key = (type_id, value)
        if key not in self._known:
            self._known[key] = self._by_kind[kind.kind](kind, value)
        return self._known[key]

    def process(self, value: Process | None) -> int:
        if value is None:
            return _ALL_32
        if value.pid is not None and value.name:
            self.processes.setdefault(value.pid, value)
        pid = _ALL_64 if value.pid is None else value.pid
        session = _ALL_64 if value.session is None else self.strings.id(value.session)
        return self.arrays.id((pid, session))

    def thread(self, value: Thread | None) -> int:
        if value is None:
            return _ALL_32
        if value.tid is not None and value.name:
            self.threads.setdefault(value.tid, value)
        tid = _ALL_64 if value.tid is None else value.tid
        process = _ALL_64 if value.process is None else self.process(value.process)
        return self.arrays.id((tid, process))

    def thread_name(self, value: ThreadName) -> int:
        text = _ALL_32 if value.text is None else self.strings.id(value.text)
        return text << 32 | self.thread(value.thread)

    def uuid(self, value: UUID) -> int:
        return self.arrays.id((value.int >> 64, value.int & _ALL_64))

    def location(self, value: Location) -> int:
        return self.uuid(value.image) << 32 | value.offset

    def label(self, value: Label) -> int:
        pairs = [self._pair(part) for part in value.parts]
        return self.typed_arrays.id([one for pair in pairs for one in pair])

    def callstack(self, value: Callstack) -> int:
        fragment = _ALL_64 if value.returns is None else self.arrays.id(value.returns)
        pc = _ALL_64 if value.pc is None else value.pc
        process = _ALL_64 if value.process is None else self.process(value.process)
        return self.arrays.id((fragment, pc, process, *value.registers))

    def backtrace(self, value: Backtrace) -> int:
        chunks = [
            self.process(process) << 32 | self.arrays.id(addresses)
            for process, addresses in value.chunks
        ]
        return self.arrays.id(chunks)

    def text_symbol(self, value: TextSymbol) -> int:
        process = _ALL_64 if value.process is None else self.process(value.process)
        return self.arrays.id((process, value.address))

    def type_number(self, type_id: str) -> int:
        return self.types.setdefault(type_id, len(self.types))

    def _pair(self, part: Part) -> tuple[int, int]:
        value = _ALL_64 if part.value is None else self.cell(part.type_id, part.value)
        return self.type_number(part.type_id), value
