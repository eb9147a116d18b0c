"""The first tables, and the triggers that keep them append-only.

This module says what was, so it takes nothing from `schema`, which says what is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_SENTENCE = "a history is append-only"
_JUDGED = (
    "candidate reference change low high expected measured measured_low measured_high least most"
)

_REFUSE = f"""
CREATE FUNCTION tracekit_history_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{_SENTENCE}'; END $$
"""


def upgrade() -> None:
    """Make the tables."""
    _nights()
    _measurements()
    _judgements()
    _decisions()
    sqlite = op.get_bind().dialect.name == "sqlite"
    if not sqlite:
        op.execute(_REFUSE)
    for table in (
        *("environments", "nights", "entries", "pairs", "samples", "judgements", "findings"),
        *("states", "acceptances", "pins", "missed_nights"),
    ):
        for statement in _triggers(table, sqlite=sqlite):
            op.execute(statement)


def _triggers(table: str, *, sqlite: bool) -> list[str]:
    if sqlite:
        return [
            f"CREATE TRIGGER {table}_refuses_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{_SENTENCE}'); END"
            for verb in ("UPDATE", "DELETE")
        ]
    when = f"BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
    then = "EXECUTE FUNCTION tracekit_history_is_append_only()"
    return [f"CREATE TRIGGER {table}_is_append_only {when} {then}"]


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _number() -> sa.Column[int]:
    return sa.Column("number", _NUMBER, sa.Identity(always=True), primary_key=True)


def _key(*places: str) -> list[sa.Column[int]]:
    """Return the columns of a key: the night's number, and places in it."""
    return [
        sa.Column("night", _NUMBER, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, sa.SmallInteger, primary_key=True, autoincrement=False)
            for name in places
        ),
    ]


def _words(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, primary_key=True) for name in names]


def _nights() -> None:
    op.create_table(
        "environments",
        *_words("digest"),
        *_text("chip", "os", "os_build", "xcode_build", "python", "mlx"),
        sa.Column("cores", sa.Integer),
        *_text("tracekit", "recorder", "document"),
    )
    op.create_table(
        "nights",
        _number(),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        *_text("plan", "digest", "machine"),
        sa.Column("environment", sa.Text, sa.ForeignKey("environments.digest"), nullable=False),
        *_text("started", "ended", "git_commit"),
        sa.Column("outcome", sa.Text),
        *_text("reason"),
        sa.Column("partial", sa.Boolean, nullable=False),
        *_text("folder"),
        sa.Column("format", sa.Integer, nullable=False),
        *_text("document"),
    )
    op.create_index("nights_of_a_plan", "nights", ["plan", "machine", "started"])
    op.create_table(
        "entries",
        *_key("position"),
        *_text("capture", "work", "workload", "parameters"),
        *_text("candidate", "candidate_commit", "candidate_mlx"),
        sa.Column("reference", sa.Text),
        sa.Column("outcome", sa.Text),
        *_text("reason", "parity", "backend"),
        sa.Column("overhead", sa.Double),
        sa.Column("overhead_spread", sa.Double),
        sa.ForeignKeyConstraint(["night"], ["nights.number"]),
        sa.UniqueConstraint("night", "capture"),
    )


def _measurements() -> None:
    op.create_table(
        "pairs",
        *_key("entry", "position"),
        sa.Column("sitting", sa.SmallInteger, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        *_text("turns"),
        sa.Column("traced", sa.Boolean, nullable=False),
        sa.Column("counted", sa.Boolean, nullable=False),
        *_text("reason", "runs"),
        _of_entry(),
    )
    op.create_table(
        "samples",
        *_key("entry", "pair"),
        *_words("metric", "side"),
        sa.Column("turn", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("value", sa.Double, nullable=False),
        _of_pair(),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "states",
        *_key("entry", "pair"),
        *_words("moment", "name"),
        *_text("at"),
        sa.Column("value", sa.Double),
        *_text("absence"),
        _of_pair(),
    )


def _judgements() -> None:
    op.create_table(
        "judgements",
        *_key("entry"),
        *_words("metric"),
        sa.Column("position", sa.SmallInteger, nullable=False),
        *_text("unit", "better", "scale"),
        sa.Column("threshold", sa.Double, nullable=False),
        sa.Column("gated", sa.Boolean, nullable=False),
        sa.Column("outcome", sa.Text),
        *(sa.Column(name, sa.Double) for name in _JUDGED.split()),
        *_text("baseline"),
        sa.Column("pairs", sa.Integer, nullable=False),
        sa.Column("reproduced", sa.Boolean),
        *_text("reason"),
        _of_entry(),
    )
    op.create_table(
        "findings",
        *_key("entry", "position"),
        *_text("rule", "message", "severity"),
        *(
            sa.Column(name, sa.Integer, nullable=False)
            for name in ("traces", "of_traces", "in_reference")
        ),
        sa.Column("saving_per_token", sa.Double),
        sa.Column("saving", sa.Double),
        _of_entry(),
    )


def _decisions() -> None:
    op.create_table(
        "acceptances",
        _number(),
        sa.Column("night", sa.Text, sa.ForeignKey("nights.id"), nullable=False),
        *_text("machine", "capture", "work", "at", "reason", "changes"),
    )
    op.create_index("acceptances_of_a_capture", "acceptances", ["machine", "capture", "work"])
    op.create_table(
        "pins",
        _number(),
        *_text("name"),
        sa.Column("pinned", sa.Boolean, nullable=False),
        *_text("at", "reason"),
    )
    op.create_table(
        "missed_nights",
        _number(),
        *_text("plan", "machine", "due", "reason"),
        sa.UniqueConstraint("plan", "machine", "due"),
    )


def _of_entry() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["night", "entry"], ["entries.night", "entries.position"])


def _of_pair() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["night", "entry", "pair"], ["pairs.night", "pairs.entry", "pairs.position"]
    )
