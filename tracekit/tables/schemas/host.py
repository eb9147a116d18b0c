"""The host: samples of its CPUs, processes and threads, the target as the system sees it."""

from tracekit.tables.schema import (
    CLOCK,
    DURATION,
    MOMENT,
    OWNER,
    PID,
    PROCESS,
    START,
    TARGET,
    THREAD,
    Column,
    Kind,
    Schema,
    bits,
    flag,
    gpu,
    host,
    identifier,
    integer,
    stack,
    text,
    time,
)

_TIME = time("time", "when the sample was taken")
_CORE = integer("core", "core", "number of the core")
_CORE_INDEX = integer("core", "core-index", "number of the core")
_STATE = text("state", "thread-state", "state of the thread, such as Running")
_THREAD_PID = Column("pid", "thread.pid", Kind.INTEGER, "id of the process")
_THREAD_TARGET = Column(
    "target", "thread.pid", Kind.TARGET, "whether that process is the recorded one"
)
_STACKS = (*stack("cp-user-callstack", "user_"), *stack("cp-kernel-callstack", "kernel_"))
_SAMPLED = (_TIME, _THREAD_PID, _THREAD_TARGET, THREAD, _CORE_INDEX, _STATE)
_KDEBUG = (
    text("class", "class", "class of the event, as the export writes it"),
    text("subclass", "subclass", "subclass of the event, as the export writes it"),
    text("code", "code", "code of the event, as the export writes it"),
    integer("function", "function", "1 for a start, 2 for an end"),
)
_ARGUMENTS = tuple(bits(f"argument_{n}", f"arg{n}", f"argument {n}") for n in (1, 2, 3, 4))
_COUNTERS = text("counters", "counters-array", "values of the counters, in the trace's order")

cpu_profile = Schema(
    name="cpu_profile",
    meaning="One row for each sample of a running thread, with its stack and its weight.",
    sources=(gpu("time-profile", unused="thread"),),
    columns=(
        _TIME,
        Column("weight", "weight", Kind.DURATION, "time that the sample stands for"),
        *stack("stack"),
        *OWNER,
        THREAD,
        _CORE,
        _STATE,
        CLOCK,
    ),
    versions="27.2: stack is a tagged-backtrace, a backtrace before.",
)
cycle_profile = Schema(
    name="cycle_profile",
    meaning="One row for each sample of a running thread, weighed in cycles.",
    sources=(gpu("cpu-profile", unused="thread"),),
    columns=(
        _TIME,
        Column("weight", "weight", Kind.INTEGER, "cycles it stands for", unit="cycles"),
        *stack("stack"),
        *OWNER,
        THREAD,
        _CORE,
        _STATE,
        CLOCK,
    ),
)
counter_profile = Schema(
    name="counter_profile",
    meaning="One row for each sample of a thread, with the CPU's performance counters.",
    sources=(gpu("counters-profile", unused="thread"),),
    columns=(
        _TIME,
        Column(
            "weight",
            "weight",
            Kind.NUMBER,
            "what it stands for, in the trace's own unit",
            doubtful=True,
        ),
        _COUNTERS,
        *stack("stack"),
        *OWNER,
        THREAD,
        _CORE,
        _STATE,
        CLOCK,
    ),
)
thread_samples = Schema(
    name="thread_samples",
    meaning="One row for each sample of a thread as the kernel took it, addresses only.",
    sources=(gpu("time-sample", unused="thread"),),
    columns=(
        *_SAMPLED,
        integer("kind", "sample-type", "0 for a timer that fired, 3 for a stackshot"),
        *_STACKS,
        CLOCK,
    ),
)
kernel_events = Schema(
    name="kernel_events",
    meaning="One row for each event of the kernel's own trace.",
    sources=(gpu("kdebug", unused="thread"),),
    columns=(*_SAMPLED, *_KDEBUG, *_ARGUMENTS, *_STACKS, CLOCK),
)
kernel_counter_events = Schema(
    name="kernel_counter_events",
    meaning="One row for each event of the kernel's own trace, with the CPU's counters.",
    sources=(gpu("kdebug-counters-with-kdebug-sample", unused="thread"),),
    columns=(*_SAMPLED, *_KDEBUG, *_ARGUMENTS, _COUNTERS, *_STACKS, CLOCK),
)
kernel_counter_samples = Schema(
    name="kernel_counter_samples",
    meaning="One row for each sample that a counter of the CPU triggered.",
    sources=(gpu("kdebug-counters-with-pmi-sample", unused="thread"),),
    columns=(
        *_SAMPLED,
        bits("interrupts", "pmi-count", "interrupts of the counter"),
        bits("counter", "sampled-counter", "the counter that triggered it"),
        bits("pc", "program-counter", "address of the instruction"),
        _COUNTERS,
        *_STACKS,
        CLOCK,
    ),
)
kernel_strings = Schema(
    name="kernel_strings",
    meaning="One row for each string that an event of the kernel's trace refers to.",
    sources=(gpu("kdebug-strings", unused="thread"),),
    columns=(
        _TIME,
        text("text", "raw-string", "the string"),
        text("id", "raw-string-id", "its id, as the export writes it"),
        *_KDEBUG,
        _THREAD_PID,
        THREAD,
        _CORE_INDEX,
        CLOCK,
    ),
)
kernel_signposts = Schema(
    name="kernel_signposts",
    meaning="One row for each signpost of the kernel's own trace.",
    sources=(gpu("kdebug-signpost", unused="thread"),),
    columns=(
        _TIME,
        text("name", "name", "name of the signpost"),
        text("type", "type", "kind of signpost"),
        *_ARGUMENTS,
        *OWNER,
        THREAD,
        *stack("backtrace"),
        CLOCK,
    ),
)


_TIME_PROCESSES = time("time")
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
        _TIME_PROCESSES,
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
        _TIME_PROCESSES,
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
        _TIME_PROCESSES,
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
    columns=(_TIME_PROCESSES, CLOCK),
)


process_samples = Schema(
    name="process_samples",
    meaning="One row for each sample of the target's CPU time, memory and context switches.",
    sources=(host("host-process-samples"),),
    columns=(
        MOMENT,
        PROCESS,
        PID,
        TARGET,
        Column("cpu", "cpu", Kind.NUMBER, "cores in use since the sample before"),
        Column("memory", "memory", Kind.INTEGER, "resident bytes"),
        Column("threads", "threads", Kind.INTEGER, "threads"),
        Column("voluntary", "voluntary", Kind.INTEGER, "voluntary context switches so far"),
        Column("involuntary", "involuntary", Kind.INTEGER, "involuntary ones so far"),
        Column("machine", "machine", Kind.NUMBER, "cores that all processes used meanwhile"),
        CLOCK,
    ),
)
