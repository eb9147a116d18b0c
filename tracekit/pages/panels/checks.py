"""The checks: found, passed, not judged for want of data, failed, or not applicable."""

from tracekit.analysis import Result, RuleCheck, Status
from tracekit.pages.panel import Context, Tables, panel


@panel("Checks")
def checks(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sort the checks by their status; those that did not judge for one reason are joined."""
    checks_by_status: dict[str, list[RuleCheck]] = {str(status): [] for status in Status}
    for check in result.checks:
        checks_by_status[str(check.status)].append(check)
    return {
        "found": checks_by_status[Status.FOUND],
        "passed": checks_by_status[Status.PASSED],
        "failed": checks_by_status[Status.FAILED],
        "unjudged": result.reasons(Status.ABSTAINED),
        "inapplicable": result.reasons(Status.NOT_APPLICABLE),
        "gist": result.summarize_checks(),
    }
