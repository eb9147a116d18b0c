"""What the workload reports of itself, on the trace's time."""

from tracekit.tables.derived import phases_of_signposts
from tracekit.tables.schema import CLOCK, DURATION, MOMENT, START, Column, Kind, Schema, host

phases = Schema(
    name="phases",
    meaning=(
        "One row for each phase, by the workload's own marks: prepare, warm-up, steady, overhead. "
        "A program that is no workload can mark its own, as signpost intervals of the subsystem "
        "`tracekit` and the category `phases`; where the target has such, they count."
    ),
    sources=(host("host-phases"),),
    columns=(START, DURATION, Column("name", "name", Kind.TEXT, "name of the phase"), CLOCK),
    join=phases_of_signposts,
    joined_first=True,
)


steps = Schema(
    name="steps",
    meaning="One row for each step that the workload made, by its own marks.",
    sources=(host("host-steps"),),
    columns=(
        START,
        DURATION,
        Column("index", "index", Kind.INTEGER, "0, 1, 2 … over all phases"),
        Column("phase", "phase", Kind.TEXT, "phase that the step belongs to"),
        Column("submitted", "submitted", Kind.DURATION, "from the start until handed over"),
        Column("tokens", "tokens", Kind.INTEGER, "tokens that the step produced"),
        Column("variant", "variant", Kind.TEXT, "which of several compared things the step was"),
        CLOCK,
    ),
)


step_models = Schema(
    name="step_models",
    meaning="One row for each variant of a step: its tokens, bytes, operations and dispatches.",
    sources=(host("host-step-model"),),
    columns=(
        MOMENT,
        Column("backend", "backend", Kind.TEXT, "where the steps ran: metal or cpu"),
        Column("tokens", "tokens", Kind.INTEGER, "tokens of a step"),
        Column("bytes_read", "bytes-read", Kind.INTEGER, "bytes read, every access counted"),
        Column("bytes_unique", "bytes-unique", Kind.INTEGER, "bytes read, each counted once"),
        Column("bytes_written", "bytes-written", Kind.INTEGER, "bytes written"),
        Column("flops", "flops", Kind.INTEGER, "floating-point operations"),
        Column("dispatches", "dispatches", Kind.INTEGER, "GPU dispatches to expect"),
        Column("variant", "variant", Kind.TEXT, "which of several compared things it is of"),
        CLOCK,
    ),
)


spans = Schema(
    name="spans",
    meaning="One row for each thing that the workload says it did inside a step.",
    sources=(host("host-spans"),),
    columns=(
        START,
        DURATION,
        Column("name", "name", Kind.TEXT, "what was done, such as admit or prefill"),
        CLOCK,
    ),
)


gauges = Schema(
    name="gauges",
    meaning="One row for each reading of a level, such as blocks in use or the GPU's clock.",
    sources=(host("host-gauges"),),
    columns=(
        MOMENT,
        Column("name", "name", Kind.TEXT, "what was read"),
        Column("value", "value", Kind.NUMBER, "the level"),
        Column("unit", "unit", Kind.TEXT, "what the number counts"),
        Column("source", "source", Kind.TEXT, "who read it: workload, or a monitor's name"),
        CLOCK,
    ),
)


requests = Schema(
    name="requests",
    meaning="One row for each request of a serving workload; times count from its schedule.",
    sources=(host("host-requests"),),
    columns=(
        Column("start", "start", Kind.TIME, "when it was scheduled to arrive", required=True),
        Column("number", "number", Kind.INTEGER, "its place in the schedule, from 0"),
        Column("state", "state", Kind.TEXT, "completed, unfinished or rejected"),
        Column("prompt_tokens", "prompt-tokens", Kind.INTEGER, "tokens of its prompt"),
        Column("output_tokens", "output-tokens", Kind.INTEGER, "tokens that it asked for"),
        Column("admitted", "admitted", Kind.DURATION, "until it got its blocks"),
        Column("first_token", "first-token", Kind.DURATION, "until its first token was there"),
        Column("last_token", "duration", Kind.DURATION, "until its last token so far"),
        Column("produced", "produced", Kind.INTEGER, "tokens that it got"),
        Column("reason", "reason", Kind.TEXT, "why it was rejected"),
        CLOCK,
    ),
)

request_tokens = Schema(
    name="request_tokens",
    meaning="One row for each token that a serving workload produced for a request.",
    sources=(host("host-request-tokens"),),
    columns=(
        MOMENT,
        Column("request", "request", Kind.INTEGER, "number of the request"),
        Column("index", "index", Kind.INTEGER, "0, 1, 2 … within the request"),
        CLOCK,
    ),
)


results = Schema(
    name="results",
    meaning="One row for each number that the workload found out about itself.",
    sources=(host("host-results"),),
    columns=(
        MOMENT,
        Column("name", "name", Kind.TEXT, "what was measured"),
        Column("value", "value", Kind.NUMBER, "the number; null where there is none"),
        Column("unit", "unit", Kind.TEXT, "its unit"),
        Column("better", "better", Kind.TEXT, "lower, higher or neither: which is good news"),
        Column("reason", "reason", Kind.TEXT, "why there is no number"),
        CLOCK,
    ),
)
