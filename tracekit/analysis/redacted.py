"""A result without what names a person or a machine."""

from dataclasses import replace

from tracekit.analysis.finding import Finding
from tracekit.analysis.result import Result
from tracekit.base import redaction


def redact_result(result: Result, redact: redaction.Redaction) -> Result:
    """Return the result without what names a person or a machine."""
    return replace(
        result,
        provenance=redaction.redact_provenance(result.provenance, redact),
        metrics=tuple(replace(one, reason=redact(one.reason)) for one in result.metrics),
        findings=tuple(_redacted(one, redact) for one in result.findings),
        checks=tuple(replace(one, reason=redact(one.reason)) for one in result.checks),
    )


def _redacted(finding: Finding, redact: redaction.Redaction) -> Finding:
    return replace(
        finding,
        message=redact(finding.message),
        advice=redact(finding.advice),
        evidence=tuple(replace(seen, note=redact(seen.note)) for seen in finding.evidence),
    )
