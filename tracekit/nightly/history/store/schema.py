"""The tables of a history as they are now; `migrations` says how they came to be.

Nothing in them is ever changed or removed: triggers of the database refuse it. What changes is
told by a further row, as a baseline that takes the place of another, or a pin that is taken out.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = "0001"
VERSION_TABLE = "tracekit_history_version"
_JUDGED = (
    "candidate reference change low high expected measured measured_low measured_high least most"
)

# SQLite counts up by itself in a column of this very type only.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

METADATA = MetaData()


def _number() -> Column[int]:
    return Column("number", _NUMBER, Identity(always=True), primary_key=True)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


def _entry_key(*more: Column[int] | Column[str]) -> tuple[Column[int] | Column[str], ...]:
    """Return the key of what belongs to one capture of one night."""
    night = Column("night", _NUMBER, primary_key=True, autoincrement=False)
    entry = Column("entry", SmallInteger, primary_key=True, autoincrement=False)
    return night, entry, *more


def _place(name: str) -> Column[int]:
    return Column(name, SmallInteger, primary_key=True, autoincrement=False)


def _word(name: str) -> Column[str]:
    return Column(name, Text, primary_key=True)


def _of_entry() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["night", "entry"], ["entries.night", "entries.position"])


def _of_pair() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["night", "entry", "pair"], ["pairs.night", "pairs.entry", "pairs.position"]
    )


ENVIRONMENTS = Table(
    "environments",
    METADATA,
    Column("digest", Text, primary_key=True),
    *(_text(name) for name in ("chip", "os", "os_build", "xcode_build", "python", "mlx")),
    Column("cores", Integer),
    *(_text(name) for name in ("tracekit", "recorder", "document")),
)

NIGHTS = Table(
    "nights",
    METADATA,
    _number(),
    Column("id", Text, nullable=False, unique=True),
    *(_text(name) for name in ("plan", "digest", "machine")),
    Column("environment", Text, ForeignKey("environments.digest"), nullable=False),
    *(_text(name) for name in ("started", "ended", "git_commit")),
    Column("outcome", Text),
    _text("reason"),
    _flag("partial"),
    _text("folder"),
    Column("format", Integer, nullable=False),
    _text("document"),
    Index("nights_of_a_plan", "plan", "machine", "started"),
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("night", _NUMBER, ForeignKey("nights.number"), primary_key=True, autoincrement=False),
    _place("position"),
    *(_text(name) for name in ("capture", "work", "workload", "parameters")),
    *(_text(name) for name in ("candidate", "candidate_commit", "candidate_mlx")),
    Column("reference", Text),
    Column("outcome", Text),
    *(_text(name) for name in ("reason", "parity", "backend")),
    Column("overhead", Double),
    Column("overhead_spread", Double),
    UniqueConstraint("night", "capture"),
)

PAIRS = Table(
    "pairs",
    METADATA,
    *_entry_key(_place("position")),
    Column("sitting", SmallInteger, nullable=False),
    Column("number", Integer, nullable=False),
    _text("turns"),
    *(_flag(name) for name in ("traced", "counted")),
    *(_text(name) for name in ("reason", "runs")),
    _of_entry(),
)

SAMPLES = Table(
    "samples",
    METADATA,
    *_entry_key(_place("pair"), _word("metric"), _word("side"), _place("turn")),
    Column("value", Double, nullable=False),
    _of_pair(),
    # Its key is nearly all of it, so the key's tree holds the rows.
    sqlite_with_rowid=False,
)

JUDGEMENTS = Table(
    "judgements",
    METADATA,
    *_entry_key(_word("metric")),
    Column("position", SmallInteger, nullable=False),
    *(_text(name) for name in ("unit", "better", "scale")),
    Column("threshold", Double, nullable=False),
    _flag("gated"),
    Column("outcome", Text),
    *(Column(name, Double) for name in _JUDGED.split()),
    _text("baseline"),
    Column("pairs", Integer, nullable=False),
    Column("reproduced", Boolean),
    _text("reason"),
    _of_entry(),
)

FINDINGS = Table(
    "findings",
    METADATA,
    *_entry_key(_place("position")),
    *(_text(name) for name in ("rule", "message", "severity")),
    *(Column(name, Integer, nullable=False) for name in ("traces", "of_traces", "in_reference")),
    Column("saving_per_token", Double),
    Column("saving", Double),
    _of_entry(),
)

STATES = Table(
    "states",
    METADATA,
    *_entry_key(_place("pair"), _word("moment"), _word("name")),
    _text("at"),
    Column("value", Double),
    _text("absence"),
    _of_pair(),
)

ACCEPTANCES = Table(
    "acceptances",
    METADATA,
    _number(),
    Column("night", Text, ForeignKey("nights.id"), nullable=False),
    *(_text(name) for name in ("machine", "capture", "work", "at", "reason", "changes")),
    Index("acceptances_of_a_capture", "machine", "capture", "work"),
)

PINS = Table(
    "pins",
    METADATA,
    _number(),
    _text("name"),
    _flag("pinned"),
    *(_text(name) for name in ("at", "reason")),
)

MISSED = Table(
    "missed_nights",
    METADATA,
    _number(),
    *(_text(name) for name in ("plan", "machine", "due", "reason")),
    UniqueConstraint("plan", "machine", "due"),
)
