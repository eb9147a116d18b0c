"""`capture-empty`: a recording without a row of the target."""

import pandas as pd

from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.rule import Fact, Findings, Severity, finding
from tracekit.analysis.scope import UNKNOWN, Targets, name_targets, owners

_NAMED = 4


def capture_empty(gpu_intervals: pd.DataFrame, targets: Targets) -> Findings:
    """The recording holds no work of the target.

    What it looks for:
        A table of device intervals in which no row belongs to the recorded process.

    Why it matters:
        A recorder can end with success and leave empty tables. Every number about the target would
        be a zero that nobody measured.

    When it abstains:
        When the target is not known, or device intervals were not exported.
    """
    if not targets:
        raise Unavailable(UNKNOWN, Remedy.TARGET)
    if not gpu_intervals["target"].any():
        process_count = int(owners(gpu_intervals).nunique())
        target = name_targets(targets)
        row_count = len(gpu_intervals)
        other_owners = _list_owners(gpu_intervals)
        facts = (
            Fact("target", target),
            Fact("rows", row_count),
            Fact("processes", process_count),
            Fact("others", other_owners),
        )
        yield finding(
            severity=Severity.ERROR,
            wording="capture-empty",
            facts=facts,
            lever="capture-empty",
        )


def _list_owners(intervals: pd.DataFrame) -> str:
    """Return the names of the processes with the most rows."""
    counts = owners(intervals).value_counts()
    most_counts = counts[:_NAMED].items()
    owner_texts = [f"{name} {count:,}" for name, count in most_counts]
    listed = ", ".join(owner_texts)
    more = len(counts) - _NAMED
    if more <= 0:
        return listed
    return f"{listed} and {more:,} more processes"
