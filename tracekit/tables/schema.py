"""What a table is: its name here, its schemas in an export, its columns."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a column holds, and so its dtype."""

    TIME = "time"  # int64, ns from the start of the trace
    DURATION = "duration"  # Int64, ns; null where the trace has none
    INTEGER = "integer"  # Int64
    IDENTIFIER = "identifier"  # UInt64; Apple's "none", 2^64 - 1, is null
    NUMBER = "number"  # Float64
    TEXT = "text"  # string
    FLAG = "flag"  # boolean
    PROCESS = "process"  # string: a process's name, without the pid that `fmt` adds
    TARGET = "target"  # bool: is the row's pid one of the recording's targets?
    CLOCK = "clock"  # string: whose clock the times are read from, "gpu" or "host"


@dataclass(frozen=True)
class Column:
    """One column: its name here, the export's mnemonic, and what it means.

    A process's pid has the mnemonic `process.pid`, a thread's tid `thread.tid`: the columns
    that the flat table puts beside the readable one. Columns whose mnemonic the export lacks
    are null; `required` ones must be there.
    """

    name: str
    source: str
    kind: Kind
    meaning: str
    required: bool = False


@dataclass(frozen=True)
class Source:
    """A schema of an export, and whose clock its times are read from.

    `unused` names columns that the export is known to have and the table leaves out; what is
    in neither is new, and the reader says so.
    """

    schema: str
    clock: str
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Schema:
    """A table: where it comes from, first source first, and what it holds."""

    name: str
    meaning: str
    sources: tuple[Source, ...]
    columns: tuple[Column, ...]


def gpu(schema: str, unused: str = "") -> Source:
    """Name a schema of Apple's, with times on the trace's clock."""
    return Source(schema, "gpu", frozenset(unused.split()))


def host(schema: str, unused: str = "") -> Source:
    """Name a schema of the host recorder's or the worker's, with times of the host's clock."""
    return Source(schema, "host", frozenset(unused.split()))


START = Column("start", "start", Kind.TIME, "when it began", required=True)
MOMENT = Column("time", "timestamp", Kind.TIME, "when it happened", required=True)
DURATION = Column("duration", "duration", Kind.DURATION, "how long it took", required=True)
PROCESS = Column("process", "process", Kind.PROCESS, "name of the process it belongs to")
PID = Column("pid", "process.pid", Kind.INTEGER, "id of that process")
TARGET = Column("target", "process.pid", Kind.TARGET, "whether that process is the recorded one")
THREAD = Column("tid", "thread.tid", Kind.INTEGER, "id of the thread")
CLOCK = Column("clock", "", Kind.CLOCK, 'whose clock: "gpu" for a trace\'s, "host" for a CPU\'s')
DEVICE = Column("device", "gpu", Kind.TEXT, "name of the device")
COMMAND_BUFFER = Column(
    "command_buffer", "cmdbuffer-id", Kind.IDENTIFIER, "id of the command buffer"
)
ENCODER = Column("encoder", "encoder-id", Kind.IDENTIFIER, "id of the encoder")
