"""The values of a table's cells, as people would say them.

Plain ones are `str`, `int`, `bool`, `Decimal` and `UUID`; `None` is the XML's sentinel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

TIME, DURATION = "XRTraceRelativeTimestampFieldID", "XRDurationFieldID"
CATEGORY_1, CATEGORY_2 = "XRCategory1FieldID", "XRCategory2FieldID"


@dataclass(frozen=True)
class Process:
    """A process; its name is no part of the cell but of the document."""

    pid: int | None
    name: str = ""
    session: str | None = "TODO"


@dataclass(frozen=True)
class Thread:
    tid: int | None
    process: Process | None
    name: str = ""


@dataclass(frozen=True)
class ThreadName:
    """A name given to a thread; either half may be missing."""

    text: str | None
    thread: Thread | None


@dataclass(frozen=True)
class Part:
    """A value of a type of its own: in a label, or as a cell of any type."""

    type_id: str
    value: "Value"


@dataclass(frozen=True)
class Label:
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Location:
    image: UUID
    offset: int


@dataclass(frozen=True)
class Callstack:
    """A stack of addresses as the kernel's profiler takes it."""

    pc: int | None
    process: Process | None
    returns: tuple[int, ...] | None = ()
    registers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Backtrace:
    """Addresses, leaf first, in chunks of one process each."""

    chunks: tuple[tuple[Process | None, tuple[int, ...]], ...]


@dataclass(frozen=True)
class TextSymbol:
    process: Process | None
    address: int


Value = (
    str | int | bool | Decimal | UUID | Process | Thread | ThreadName | Label | Part | Location
    | Callstack | Backtrace | TextSymbol | tuple[int, ...] | None
)  # fmt: skip


@dataclass(frozen=True)
class Col:
    """A column: in a field of its own, or in one of the first fields of the record."""

    mnemonic: str
    title: str
    type_id: str
    topology_field: str | None = None


@dataclass
class Table:
    """A table: its rows as values, or `blocks` of records that are already encoded."""

    schema: str
    columns: Sequence[Col]
    rows: Sequence[Sequence[Value]] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    blocks: "Sequence[NDArray[np.void]] | Any" = None
