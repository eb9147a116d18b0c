"""What a table is: its name here, its schemas in an export, its columns."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ColumnKind(StrEnum):
    """What a column holds, and so its dtype."""

    TIME = "time"  # int64, ns from the start of the trace
    INSTANT = "instant"  # Int64, ns from the start of the trace; null where there is none
    DURATION = "duration"  # Int64, ns; null where the trace has none
    INTEGER = "integer"  # Int64
    IDENTIFIER = "identifier"  # UInt64; Apple's "none", 2^64 - 1, is null
    BITS = "bits"  # UInt64 as it stands, such as an address
    NUMBER = "number"  # Float64
    TEXT = "text"  # string
    FLAG = "flag"  # boolean
    STACK = "stack"  # Int64: the number of a stack in the export's symbol table
    PROCESS = "process"  # string: a process's name, without the pid that `fmt` adds
    TARGET = "target"  # bool: is the row's pid one of the recording's targets?
    KERNEL = "kernel"  # string: a label without the process and the instance that it names
    CLOCK = "clock"  # string: whose clock the times are read from, "gpu" or "host"


@dataclass(frozen=True)
class Column:
    """One column: its name here, the export's mnemonic, and what it means.

    What the flat table puts beside a readable column has a mnemonic with a dot: a process's pid
    is `process.pid`, a thread's tid `thread.tid`, the number of a stack `stack.stack`. Columns
    whose mnemonic the export lacks are null; `required` ones must be there. `since` names the
    version of Instruments that brought it. It is `doubtful` where it is not established how exports
    write it: where it holds something else, it is null and the reader says so.
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
    """A schema of an export, and whose clock its times are read from.

    `unused` names columns that the export is known to have and the table leaves out; what is
    in neither is new, and the reader says so.
    """

    schema: str
    clock: str
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Schema:
    """A table: where it comes from, and what it holds; the head of `schemas.toml` says more.

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
