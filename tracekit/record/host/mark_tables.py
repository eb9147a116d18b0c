"""The tables that hold a worker's marks: their schemas and columns."""

from tracekit.record.host.export_writer import ExportColumn, ExportTable


def _columns(*columns: tuple[str, str, str]) -> tuple[ExportColumn, ...]:
    return tuple(ExportColumn(*column) for column in columns)


PHASES = ExportTable(
    "host-phases",
    _columns(
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("name", "Phase", "string"),
    ),
)
STEPS = ExportTable(
    "host-steps",
    _columns(
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("index", "Index", "uint64"),
        ("phase", "Phase", "string"),
        ("submitted", "Until Handed Over", "duration"),
        ("tokens", "Tokens", "uint64"),
        ("variant", "Variant", "string"),
    ),
)
SPECIALIZATIONS = ExportTable(
    "host-specializations",
    _columns(("timestamp", "Time", "event-time"), ("name", "Specialization", "string")),
)
STEP_MODEL = ExportTable(
    "host-step-model",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("backend", "Backend", "string"),
        ("tokens", "Tokens", "uint64"),
        ("bytes-read", "Bytes Read", "uint64"),
        ("bytes-unique", "Bytes Read Once", "uint64"),
        ("bytes-written", "Bytes Written", "uint64"),
        ("flops", "Floating-Point Operations", "uint64"),
        ("dispatches", "Dispatches", "uint64"),
        ("variant", "Variant", "string"),
    ),
)
SPANS = ExportTable(
    "host-spans",
    _columns(
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("name", "Name", "string"),
    ),
)
GAUGES = ExportTable(
    "host-gauges",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("name", "Name", "string"),
        ("value", "Value", "fixed-decimal"),
        ("unit", "Unit", "string"),
        ("source", "Read By", "string"),
    ),
)
REQUESTS = ExportTable(
    "host-requests",
    _columns(
        ("start", "Scheduled", "start-time"),
        ("number", "Number", "uint64"),
        ("state", "State", "string"),
        ("prompt-tokens", "Prompt Tokens", "uint64"),
        ("output-tokens", "Output Tokens", "uint64"),
        ("admitted", "Until Admitted", "duration"),
        ("first-token", "Until First Token", "duration"),
        ("duration", "Until Last Token", "duration"),
        ("produced", "Tokens Produced", "uint64"),
        ("reason", "Why Not", "string"),
    ),
)
REQUEST_TOKENS = ExportTable(
    "host-request-tokens",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("request", "Request", "uint64"),
        ("index", "Index", "uint64"),
    ),
)
RESULTS = ExportTable(
    "host-results",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("name", "Name", "string"),
        ("value", "Value", "fixed-decimal"),
        ("unit", "Unit", "string"),
        ("better", "Better", "string"),
        ("reason", "Why Not", "string"),
    ),
)
MEMORY_PROFILE = ExportTable(
    "host-memory-profile",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("phase", "Phase", "string"),
        ("what", "What", "string"),
        ("bytes", "Bytes", "uint64"),
        ("reason", "Why Not", "string"),
    ),
)

MARKS = (
    *(PHASES, STEPS, SPECIALIZATIONS, STEP_MODEL),
    *(SPANS, GAUGES, REQUESTS, REQUEST_TOKENS, RESULTS, MEMORY_PROFILE),
)
