"""`requests` and `request_tokens`: what a serving workload was asked, and when it answered."""

from tracekit.tables.schema import CLOCK, MOMENT, Column, Kind, Schema, host

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
