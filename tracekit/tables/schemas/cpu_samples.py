"""Where CPUs were: samples of threads, with their stacks and counters."""

from tracekit.tables.schema import (
    CLOCK,
    OWNER,
    THREAD,
    Column,
    Kind,
    Schema,
    bits,
    gpu,
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
