"""The checks: passed, not possible with the reason why, or failed to run."""

from tracekit.analysis import Result, RuleCheck, Status
from tracekit.report.panel import Context, Tables, panel


@panel("What was checked")
def checks(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sort the checks by their status; those that abstained for one reason are joined."""
    checks_by_status: dict[str, list[RuleCheck]] = {str(status): [] for status in Status}
    for check in result.checks:
        checks_by_status[str(check.status)].append(check)
    return {**checks_by_status, "reasons": result.reasons(Status.ABSTAINED)}
