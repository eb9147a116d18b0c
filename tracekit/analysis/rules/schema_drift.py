"""`schema-drift`: exports differ from those that this version of tracekit knows."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Fact, Findings, Severity, finding
from tracekit.base import Provenance
from tracekit.tables import SCHEMAS, Flaw, owner


def schema_drift(losses: pd.DataFrame | None, provenance: Provenance) -> Findings:
    """Exports differ from those that this version of tracekit knows.

    What it looks for:
        In the exports that metrics and rules read: columns that are missing, or whose values differ
        from their declared type, so that columns of tables are null or whole tables cannot be made,
        which is a warning; and columns that tracekit does not know, which is a note. Schemas that
        no table uses do not count.

    Why it matters:
        Every version of Instruments may rename a column. A column that is null as a result is
        missing from numbers that still look complete.

    When it abstains:
        When the tables were not read from exports; and when it finds nothing in the available
        exports, but the stage that makes them did not finish, or some are damaged.
    """
    if losses is None:
        raise Unavailable("the tables were not read from exports.")
    losses_by_flaw = {flaw: losses[losses["flaw"] == flaw.value] for flaw in Flaw}
    changed = losses_by_flaw[Flaw.CHANGED]
    nulled = changed["table"].fillna("") != ""
    lost_texts = [
        *map(
            _nulls, *(losses_by_flaw[Flaw.LACKING][name] for name in ("table", "schema", "column"))
        ),
        *changed.loc[nulled, "text"],
        *losses_by_flaw[Flaw.UNREADABLE]["text"],
    ]
    new = [*losses_by_flaw[Flaw.UNKNOWN]["text"], *changed.loc[~nulled, "text"]]
    if lost_texts:
        facts = Fact("number", _count_texts(lost_texts)), Fact("texts", _join_texts(lost_texts))
        yield finding(wording="schema-drift-lacking", facts=facts, lever="schema-drift")
    if new:
        facts = Fact("number", _count_texts(new)), Fact("texts", _join_texts(new))
        yield finding(
            wording="schema-drift-unknown",
            facts=facts,
            lever="schema-drift",
            severity=Severity.NOTE,
        )
    if not lost_texts and not new:
        _require_whole(losses_by_flaw[Flaw.DAMAGED], provenance)


def _require_whole(damaged: pd.DataFrame, provenance: Provenance) -> None:
    """Raise Unavailable if there may be unread exports, or unread parts of some."""
    for name in provenance.incomplete:
        raise Unavailable(f"the stage `{name}` did not come to its end: exports may be missing.")
    if not damaged.empty:
        raise Unavailable(f"an export is damaged: {damaged['text'].iloc[0]}")


def _nulls(table: str, schema: str, columns: str) -> str:
    """Return which columns of the table are null because the export lacks columns."""
    missing_columns = set(columns.split(", "))
    sources = ((column.name, column.source) for column in SCHEMAS[table].columns if column.source)
    nulls = [name for name, source in sources if owner(source) in missing_columns]
    return f"{schema} lacks {columns}, so that {', '.join(nulls)} of {table} are null"


def _join_texts(texts: list[str]) -> str:
    return "; ".join(dict.fromkeys(text.rstrip(".") for text in texts))


def _count_texts(texts: list[str]) -> int:
    return len(set(texts))
