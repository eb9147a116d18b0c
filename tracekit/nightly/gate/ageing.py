"""A night that is too old says nothing of today."""

from dataclasses import replace
from datetime import UTC, datetime

from tracekit.nightly.gate.report.model import GateReport, Suite, explained
from tracekit.nightly.history.night import Outcome


def aged(report: GateReport, longest: float, now: datetime | None = None) -> GateReport:
    """Return the report; a good one that is older than `longest` seconds is inconclusive.

    So a gate does not stay green because nights have stopped.
    """
    if report.outcome is not Outcome.OK:
        return report
    try:
        begun = datetime.fromisoformat(report.started)
        begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
    except ValueError:
        return _inconclusive(report, "When it began is not known.")
    age = ((now or datetime.now(UTC)) - begun).total_seconds()
    if age <= longest:
        return report
    return _inconclusive(
        report, f"It began {age / 3600:.1f} h ago; --max-age allows {longest / 3600:.1f} h."
    )


def _inconclusive(report: GateReport, reason: str) -> GateReport:
    suite = explained(Suite(report.plan or "night", Outcome.INCONCLUSIVE, reason))
    return replace(
        report,
        outcome=Outcome.INCONCLUSIVE,
        reason=reason,
        suites=(*report.suites, suite),
    )
