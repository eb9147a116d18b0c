"""What programs said of themselves: signposts and logs."""

from tracekit.tables.derived import paired_signposts
from tracekit.tables.schema import (
    CLOCK,
    DURATION,
    OWNER,
    START,
    THREAD,
    Column,
    Kind,
    Schema,
    gpu,
    identifier,
    stack,
    text,
    time,
)

_EVENT = text("event", "event-type", "Begin, End or Event")
_NAME = text("name", "name", "name of the signpost")
_IDENTIFIER = identifier("identifier", "identifier", "id that keeps equal names apart")
_SUBSYSTEM = text("subsystem", "subsystem", "subsystem of the program")
_CATEGORY = text("category", "category", "category in the subsystem")
_FORMAT = text("format", "format-string", "format of the message")
_MESSAGE = text("message", "message", "the message in words")
_PLACE = text("place", "emit-location", "where in the program it stands")
_ARGUMENT = text("argument", "name", "name of the argument")
_VALUE = text("value", "value", "value of the argument")
_UNUSED = (
    "layout-qualifier end-process start-thread end-thread start-backtrace end-backtrace "
    "start-emit-location end-emit-location signature"
)

signposts = Schema(
    name="signposts",
    meaning="One row for each signpost that a program set.",
    sources=(gpu("os-signpost", unused="thread"),),
    columns=(
        time("time"),
        _EVENT,
        _NAME,
        _IDENTIFIER,
        _SUBSYSTEM,
        _CATEGORY,
        text("scope", "scope", "Thread, Process or System"),
        _FORMAT,
        _MESSAGE,
        *OWNER,
        THREAD,
        *stack("backtrace"),
        _PLACE,
        CLOCK,
    ),
)
signpost_intervals = Schema(
    name="signpost_intervals",
    meaning=(
        "Stretches between a signpost's begin and its end. Where the trace has only the "
        "signposts, they are paired by identifier, name, subsystem, category and process."
    ),
    sources=(gpu("os-signpost-interval", _UNUSED), gpu("OSSignpostIntervals", _UNUSED)),
    columns=(
        START,
        DURATION,
        _NAME,
        _IDENTIFIER,
        _SUBSYSTEM,
        _CATEGORY,
        text("begin_message", "start-message", "message of the begin"),
        text("end_message", "end-message", "message of the end"),
        *OWNER,
        Column("tid", "start-thread.tid", Kind.INTEGER, "id of the thread that began it"),
        CLOCK,
    ),
    join=paired_signposts,
    versions="27: the schema is OSSignpostIntervals, os-signpost-interval before.",
)
signpost_arguments = Schema(
    name="signpost_arguments",
    meaning="One row for each argument of a signpost.",
    sources=(gpu("os-signpost-arg", unused="thread"),),
    columns=(
        time("time"),
        text("name", "signpost-name", "name of the signpost"),
        _IDENTIFIER,
        _ARGUMENT,
        _VALUE,
        _FORMAT,
        _SUBSYSTEM,
        _CATEGORY,
        Column("process", "process", Kind.PROCESS, "name of the process", since="27.2"),
        Column("pid", "process.pid", Kind.INTEGER, "id of that process", since="27.2"),
        THREAD,
        CLOCK,
    ),
    versions="27.2: process is new.",
)
logs = Schema(
    name="logs",
    meaning="One row for each message that a program logged.",
    sources=(gpu("os-log", unused="thread"),),
    columns=(
        time("time"),
        text("type", "message-type", "kind of message"),
        _MESSAGE,
        _FORMAT,
        _SUBSYSTEM,
        _CATEGORY,
        *OWNER,
        THREAD,
        *stack("backtrace"),
        _PLACE,
        CLOCK,
    ),
)
log_arguments = Schema(
    name="log_arguments",
    meaning="One row for each argument of a logged message.",
    sources=(gpu("os-log-arg", unused="thread"),),
    columns=(
        time("time"),
        _ARGUMENT,
        _VALUE,
        _FORMAT,
        _SUBSYSTEM,
        _CATEGORY,
        THREAD,
        CLOCK,
    ),
)
