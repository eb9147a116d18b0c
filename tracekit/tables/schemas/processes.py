"""Processes and threads: who they are, what they use, when they hang."""

from tracekit.tables.schema import (
    CLOCK,
    DURATION,
    MOMENT,
    OWNER,
    START,
    THREAD,
    Column,
    Kind,
    Schema,
    bits,
    flag,
    gpu,
    identifier,
    integer,
    stack,
    text,
    time,
)

_TIME = time("time")
_USAGE = Column(
    "cpu",
    "cpu-usage",
    Kind.NUMBER,
    "CPU in use, 100 for one core",
    unit="percent",
    doubtful=True,
)
_NEW = "27: new; 26 does not record it."

processes = Schema(
    name="processes",
    meaning="One row for each process, when the trace first saw it.",
    sources=(gpu("process-info", unused="pid"),),
    columns=(
        _TIME,
        *OWNER,
        text("name", "process-name", "name of the process, as it names itself"),
        identifier("unique", "unique-id", "id that no other process gets"),
        CLOCK,
    ),
)
threads = Schema(
    name="threads",
    meaning="One row for each thread, when the trace first saw it.",
    sources=(gpu("thread-info", unused="pid thread"),),
    columns=(
        _TIME,
        integer("tid", "tid", "id of the thread"),
        text("name", "name", "name of the thread"),
        flag("main", "main-thread", "whether it is the process's first"),
        *OWNER,
        CLOCK,
    ),
)
process_cpu = Schema(
    name="process_cpu",
    meaning="How much CPU a process used in each stretch.",
    sources=(gpu("ProcessCPUUsage"),),
    columns=(START, DURATION, _USAGE, *OWNER, CLOCK),
    versions=_NEW,
)
thread_cpu = Schema(
    name="thread_cpu",
    meaning="How much CPU a thread used in each stretch.",
    sources=(gpu("ThreadCPUUsage", unused="thread"),),
    columns=(START, DURATION, _USAGE, *OWNER, THREAD, CLOCK),
    versions=_NEW,
)
system_cpu = Schema(
    name="system_cpu",
    meaning="How much CPU the whole machine used in each stretch.",
    sources=(gpu("SystemCPUUsage"),),
    columns=(START, DURATION, _USAGE, CLOCK),
    versions=_NEW,
)
hangs = Schema(
    name="hangs",
    meaning="Stretches in which a thread did not answer.",
    sources=(gpu("potential-hangs", unused="thread"),),
    columns=(START, DURATION, text("kind", "hang-type", "kind of hang"), *OWNER, THREAD, CLOCK),
)
hang_risks = Schema(
    name="hang_risks",
    meaning="One row for each call that may hang a thread.",
    sources=(gpu("hang-risks", unused="thread"),),
    columns=(
        _TIME,
        text("message", "message", "what the trace says of it"),
        text("severity", "severity", "how bad it is"),
        text("event", "event-type", "kind of event"),
        *OWNER,
        THREAD,
        *stack("backtrace"),
        CLOCK,
    ),
)
life_cycles = Schema(
    name="life_cycles",
    meaning="Stretches in the life of a process, from its creation on.",
    sources=(gpu("life-cycle-period", unused="lane"),),
    columns=(
        START,
        DURATION,
        text("period", "period", "name of the stretch"),
        text("group", "group", "group of such stretches"),
        text("label", "narrative", "what the trace says of it"),
        *OWNER,
        CLOCK,
    ),
)
library_loads = Schema(
    name="library_loads",
    meaning="One row for each library that was loaded.",
    sources=(gpu("dyld-library-load", unused="thread track-containment-level color"),),
    columns=(
        START,
        DURATION,
        text("type", "type", "kind of load"),
        text("path", "path", "file of the library"),
        text("uuid", "uuid", "id of its build, as the export writes it"),
        bits("address", "load-address", "address it was loaded at"),
        *OWNER,
        THREAD,
        *stack("backtrace"),
        CLOCK,
    ),
    versions="27.2: backtrace is a tagged-backtrace, a backtrace before.",
)
run_loop_events = Schema(
    name="run_loop_events",
    meaning="One row for each start and each end of what a run loop does.",
    sources=(gpu("runloop-events", unused="thread"),),
    columns=(
        MOMENT,
        text("accuracy", "timestamp-accuracy", "how exact the time is"),
        text("interval", "interval-type", "kind of what it does"),
        text("identifier", "interval-identifier", "which one of that kind"),
        integer("function", "event-type", "1 for a start, 2 for an end"),
        integer("depth", "nesting-level", "run loops that it stands in"),
        text("mode", "mode", "mode of the run loop"),
        flag("main", "is-main", "whether it is the main thread's"),
        bits("run_loop", "runloop-pointer", "address of the run loop"),
        bits("timeout", "timeout", "how long it may wait, as the trace states it"),
        bits("argument", "other-arg", "further argument"),
        Column("pid", "thread.pid", Kind.INTEGER, "id of the process"),
        THREAD,
        CLOCK,
    ),
)
dispatch_events = Schema(
    name="dispatch_events",
    meaning="One row for each misuse of dispatch queues that the trace noticed.",
    sources=(gpu("gcd-perf-event", unused="thread"),),
    columns=(
        MOMENT,
        text("event", "dispatch-perf-event", "what is wrong"),
        text("severity", "severity", "how bad it is"),
        bits("code", "code", "the same, as a number"),
        text("label", "label", "label of the queue or source"),
        bits("queue", "dispatch-queue", "address of the queue"),
        bits("source", "dispatch-source", "address of the source"),
        bits("old_target", "old-target-queue", "address of the queue it led to"),
        bits("new_target", "new-target-queue", "address of the queue it leads to"),
        *stack("backtrace"),
        Column("pid", "thread.pid", Kind.INTEGER, "id of the process"),
        THREAD,
        integer("core", "running-cpu", "number of the core"),
        CLOCK,
    ),
)
ticks = Schema(
    name="ticks",
    meaning="The moments of a timer that the trace keeps.",
    sources=(gpu("tick"),),
    columns=(_TIME, CLOCK),
)
