"""`rows-missing`: the trace lacks part of the GPU work that the workload made."""

import pandas as pd

from tracekit.analysis.completeness import Completeness
from tracekit.analysis.rule import Fact, Findings, Severity, finding
from tracekit.base import Provenance


def rows_missing(
    steps: pd.DataFrame,
    step_models: pd.DataFrame,
    completeness: Completeness,
    provenance: Provenance,
) -> Findings:
    """The trace lacks GPU work that the workload made.

    What it looks for:
        The GPU intervals of the target that begin in its steady steps, against the dispatches that
        the workload itself counts in them. A step must have as many intervals as every tenth step
        has, at least one and at most one for each dispatch. It fires when less than 95 % are there,
        or less than 70 % if a step has several, because the driver may coalesce them differently in
        each step. Then the GPU intervals give no other finding, no rate and no idle time.

    Why it matters:
        By one report, the kernel's buffer of events holds a number of events, not a time, so that
        dense work is thinned out, differently each time. On some machines, one of the two ways to
        record a program misses most of its work. Both end with success, and look like less work and
        more idle time.

    When it abstains:
        When the program is not a workload of tracekit that ran on Metal, or made no steady step.
    """
    if completeness.is_enough:
        return
    is_light = bool(provenance.instruments) and not provenance.templates
    step_count = len(steps)
    facts = (
        Fact("recorded", completeness.recorded),
        Fact("expected", completeness.expected),
        Fact("share", completeness.share, "ratio"),
        Fact("steps", step_count),
        Fact("light", is_light),
    )
    yield finding(
        wording="rows-missing",
        facts=facts,
        lever="rows-missing",
        severity=Severity.ERROR,
    )
