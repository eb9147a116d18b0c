"""`capture-empty`: a recording without a row of the target."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Findings, Severity, finding
from tracekit.analysis.scope import UNKNOWN, Targets, named, owners

_ADVICE = (
    "Check that the recorded process is the one that submits the work (a shell, a shim or "
    "`uv run` is not), that it ran on the GPU while the recorder was on, and record again by "
    "launching it instead of attaching, or the other way round. Where another process of those "
    "named did the work, `tracekit import --target PID|NAME` judges that one."
)
_NAMED = 4


def capture_empty(gpu_intervals: pd.DataFrame, targets: Targets) -> Findings:
    """The recording holds no work of the target.

    What it looks for:
        A table of device intervals in which no row belongs to the recorded process.

    Why it matters:
        Recorders end with success and leave empty tables. Every number about the target would
        be a zero that nobody measured.

    When it abstains:
        When the target is not known, or device intervals were not exported.
    """
    if not targets:
        raise Unavailable(UNKNOWN)
    if not gpu_intervals["target"].any():
        others = f"all {len(gpu_intervals):,} belong to others: {_who(gpu_intervals)}"
        rows = others if len(gpu_intervals) else "the table has no rows at all"
        yield finding(
            severity=Severity.ERROR,
            message=f"The recording has no device interval of {named(targets)}: {rows}.",
            advice=_ADVICE,
        )


def _who(others: pd.DataFrame) -> str:
    """Name the processes that have most rows."""
    counts = owners(others).value_counts()
    listed = ", ".join(f"{name} {count:,}" for name, count in counts[:_NAMED].items())
    more = len(counts) - _NAMED
    return f"{listed} and {more:,} more processes" if more > 0 else listed
