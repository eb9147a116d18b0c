"""The declaration of a table: its name here, its schemas in an export, its columns."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ColumnKind(StrEnum):
    """The kind of a column, which determines its dtype."""

    TIME = "time"  # int64, ns from the start of the trace
    INSTANT = "instant"  # Int64, ns from the start of the trace; null if there is none
    DURATION = "duration"  # Int64, ns; null if the trace has none
    INTEGER = "integer"  # Int64
    IDENTIFIER = "identifier"  # UInt64; Apple's "none", 2^64 - 1, is null
    BITS = "bits"  # UInt64 without a null value, such as an address
    NUMBER = "number"  # Float64
    TEXT = "text"  # string
    FLAG = "flag"  # boolean
    STACK = "stack"  # Int64: the number of a stack in the symbol table of the export
    PROCESS = "process"  # string: the name of a process, without the pid that `fmt` adds
    TARGET = "target"  # bool: whether the pid of the row is a target of the recording
    KERNEL = "kernel"  # string: a label without the process and the instance that it names
    CLOCK = "clock"  # string: the clock of the times, "gpu" or "host"


@dataclass(frozen=True)
class Column:
    """One column: its name here, its mnemonic in the export, and its meaning.

    Columns that the flat table puts next to a readable column have a mnemonic with a dot: the pid
    of a process is `process.pid`, the tid of a thread `thread.tid`, the number of a stack
    `stack.stack`. Columns whose mnemonic the export lacks are null; `required` ones must be there.
    `since` names the version of Instruments that introduced it. It is `doubtful` if its form in
    exports is not established: if it holds something else, it is null and the reader reports it.
    """

    name: str
    source: str
    kind: ColumnKind
    meaning: str
    required: bool = False
    unit: str = ""
    since: str = ""
    doubtful: bool = False


@dataclass(frozen=True)
class SchemaSource:
    """A schema of an export, and the clock of its times.

    `unused` names columns that the export is known to have and the table leaves out; any other
    column is new, and the reader reports it.
    """

    schema: str
    clock: str
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Schema:
    """A table: its sources and its columns; the head of `schemas.toml` describes the fields.

    It is read from the first of its `sources` that has rows, or else made of other tables by
    `join`; see `tracekit.tables.derived`.
    """

    name: str
    meaning: str
    sources: tuple[SchemaSource, ...]
    columns: tuple[Column, ...]
    join: Callable[..., Any] | None = None
    joined_first: bool = False
    versions: str = ""
    is_concatenated: bool = False
    more: str = ""
