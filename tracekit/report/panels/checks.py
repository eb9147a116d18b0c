"""What passed, what could not be checked and why, what failed to run."""

from tracekit.analysis import Result, Status, reasons
from tracekit.report.panel import Context, Tables, panel


@panel("What was checked")
def checks(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sort the checks by how they ended; those that abstained for one reason stand together."""
    checks_by_status = {
        str(status): [check for check in result.checks if check.status is status]
        for status in Status
    }
    return {**checks_by_status, "reasons": reasons(result.checks, Status.ABSTAINED)}
