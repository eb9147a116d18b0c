"""Which windows to show for a finding: the longest ones, longest first."""

import pandas as pd

from tracekit.analysis.finding import Evidence
from tracekit.analysis.intervals import Times, spans

_SHOWN = 20


def longest(table: str, starts: Times, ends: Times) -> tuple[Evidence, ...]:
    """Return the windows that last longest, longest first, at most twenty."""
    order = (starts - ends).argsort(kind="stable")[:_SHOWN]
    return tuple(Evidence(table, int(starts[i]), int(ends[i])) for i in order)


def longest_rows(table: str, rows: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the windows of the rows that last longest, longest first, at most twenty."""
    ordered = rows.sort_values("start", kind="stable")
    return longest(table, *spans(ordered))
