"""What passed, what could not be checked and why, what failed to run."""

from tracekit.analysis import Check, Result, Status, reasons
from tracekit.report.panel import Context, Panel, Tables


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sort the checks by how they ended; those that abstained for one reason stand together."""
    return {
        "passed": _of(result, Status.PASSED),
        "found": _of(result, Status.FOUND),
        "abstained": _of(result, Status.ABSTAINED),
        "reasons": reasons(result.checks, Status.ABSTAINED),
        "failed": _of(result, Status.FAILED),
    }


def _of(result: Result, status: Status) -> list[Check]:
    return [check for check in result.checks if check.status is status]


checks = Panel("checks", "What was checked", context)
