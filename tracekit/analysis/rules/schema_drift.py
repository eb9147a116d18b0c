"""`schema-drift`: exports differ from those that this version of tracekit knows."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.intervals import choose_rows
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
        raise NotApplicable("the tables were not read from exports.")
    changed = _of_flaw(losses, Flaw.CHANGED)
    nulled = changed["table"].fillna("") != ""
    null_texts = changed.loc[nulled, "text"]
    unreadable_texts = _of_flaw(losses, Flaw.UNREADABLE)["text"]
    lacking = _of_flaw(losses, Flaw.LACKING)
    lost_texts = [
        *map(_nulls, lacking["table"], lacking["schema"], lacking["column"]),
        *null_texts,
        *unreadable_texts,
    ]
    unknown_texts = _of_flaw(losses, Flaw.UNKNOWN)["text"]
    kept_texts = changed.loc[~nulled, "text"]
    new = [*unknown_texts, *kept_texts]
    if lost_texts:
        lost_count = _count_texts(lost_texts)
        lost_text = _join_texts(lost_texts)
        facts = Fact("number", lost_count), Fact("texts", lost_text)
        yield finding(wording="schema-drift-lacking", facts=facts, lever="schema-drift")
    if new:
        new_count = _count_texts(new)
        new_text = _join_texts(new)
        facts = Fact("number", new_count), Fact("texts", new_text)
        yield finding(
            wording="schema-drift-unknown",
            facts=facts,
            lever="schema-drift",
            severity=Severity.NOTE,
        )
    if not lost_texts and not new:
        _require_whole(_of_flaw(losses, Flaw.DAMAGED), provenance)


def _of_flaw(losses: pd.DataFrame, flaw: Flaw) -> pd.DataFrame:
    return choose_rows(losses, (losses["flaw"] == flaw.value).to_numpy(np.bool_, na_value=False))


def _require_whole(damaged: pd.DataFrame, provenance: Provenance) -> None:
    """Raise Unavailable if there may be unread exports, or unread parts of some."""
    for name in provenance.incomplete:
        raise Unavailable(f"the stage `{name}` is not complete: exports may be missing.")
    if not damaged.empty:
        damaged_text = damaged["text"].iloc[0]
        raise Unavailable(f"an export is damaged: {damaged_text}")


def _nulls(table: str, schema: str, columns: str) -> str:
    """Return which columns of the table are null because the export lacks columns."""
    missing_columns = set(columns.split(", "))
    sources = ((column.name, column.source) for column in SCHEMAS[table].columns if column.source)
    nulls = [name for name, source in sources if owner(source) in missing_columns]
    null_names = ", ".join(nulls)
    return f"{schema} lacks {columns}, so that {null_names} of {table} are null"


def _join_texts(texts: list[str]) -> str:
    distinct_texts = dict.fromkeys(text.rstrip(".") for text in texts)
    return "; ".join(distinct_texts)


def _count_texts(texts: list[str]) -> int:
    return len(set(texts))
