"""`capture-empty`: a recording without a row of the target."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity, finding
from tracekit.analysis.scope import UNKNOWN, named

_ADVICE = (
    "Check that the recorded process is the one that submits the work (a shell, a shim or "
    "`uv run` is not), that it ran on the GPU while the recorder was on, and record again by "
    "launching it instead of attaching, or the other way round."
)


def capture_empty(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> Iterator[Finding]:
    """The recording holds no work of the target.

    What it looks for:
        A table of device intervals in which no row belongs to the recorded process.

    Why it matters:
        Recorders end with success and leave empty tables. Every number about the target would
        be a zero that nobody measured.

    What to do:
        Record the process that submits the work itself, and check that it ran on the device
        while the recorder was on. Launching and attaching fail for different reasons: try the
        other one.

    When it abstains:
        When the target is not known, or device intervals were not exported.
    """
    if targets.empty:
        raise Unavailable(UNKNOWN)
    if not gpu_intervals["target"].any():
        others = f"all {len(gpu_intervals):,} belong to others"
        rows = others if len(gpu_intervals) else "the table has no rows at all"
        yield finding(
            severity=Severity.ERROR,
            message=f"The recording has no device interval of {named(targets)}: {rows}.",
            advice=_ADVICE,
        )
