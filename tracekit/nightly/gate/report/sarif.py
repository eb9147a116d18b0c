"""SARIF 2.1.0: what code scanning shows beside the plan's lines.

Only regressions are results. GitHub shows a result as an alert whatever its `kind`, also one that
passed; so what failed or is inconclusive stands among the tool's notifications, where SARIF wants
what kept a tool from answering.
"""

import hashlib
from typing import Any
from urllib.parse import quote

from tracekit.base import as_json
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.text import flatten_text, sentences
from tracekit.nightly.history.night import Outcome, moment_in
from tracekit.report import visible

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Outcome.FAILED: "error", Outcome.INCONCLUSIVE: "warning", Outcome.UNJUDGED: "warning"}


def sarif(report: GateReport, version: str) -> bytes:
    """Return the report as SARIF; `version` is that of tracekit."""
    pairs = [
        (suite, case)
        for suite in report.suites
        for case in suite.cases
        if case.outcome is Outcome.REGRESSION
    ]
    rules = {_word(case.name): case for _, case in pairs}
    facts = {visible(name): visible(value) for name, value in report.environment.items()}
    run = {
        "tool": {
            "driver": {
                "name": "tracekit",
                "version": version,
                "rules": [_rule(name, case) for name, case in rules.items()],
            }
        },
        "results": [_result(suite, case, report, list(rules)) for suite, case in pairs],
        "invocations": [_invocation(report)],
        # The same every night, so that an alert that is gone is closed.
        "automationDetails": {"id": f"tracekit/{_word(report.plan or 'runs')}/"},
        "columnKind": "unicodeCodePoints",
        "properties": {"outcome": str(report.outcome), "environment": facts},
    }
    return as_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str, case: Case) -> dict[str, Any]:
    subject = "A finding" if case.kind == "finding" else "A regression"
    return {
        "id": name,
        "shortDescription": {"text": f"{subject}: {flatten_text(case.name)}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(suite: Suite, case: Case, report: GateReport, rules: list[str]) -> dict[str, Any]:
    values = {"unit": visible(case.unit), "candidate": case.candidate, "reference": case.reference}
    change = {"change": case.change, "low": case.low, "high": case.high}
    judged = {"threshold": case.threshold, "pairs": case.pairs, "reproduced": case.reproduced}
    search = {"search": visible(suite.labels.get("search", ""))}
    properties = {**values, **change, **judged, **search}
    return {
        "ruleId": _word(case.name),
        "ruleIndex": rules.index(_word(case.name)),
        "kind": "fail",
        "level": "error",
        "message": {"text": f"{flatten_text(suite.name)}: {sentences(case)}"},
        "locations": [_location(suite, report)],
        # The same regression of the next night is the same alert.
        "partialFingerprints": {"tracekit/v1": _fingerprint(suite, case)},
        "properties": {
            name: value for name, value in properties.items() if value not in (None, [], "")
        },
    }


def _location(suite: Suite, report: GateReport) -> dict[str, Any]:
    logical = {"logicalLocations": [{"name": flatten_text(suite.name)}]}
    if not report.file:
        return logical
    file = {"uri": quote(visible(report.file)), "uriBaseId": "%SRCROOT%"}
    physical = {"artifactLocation": file, "region": {"startLine": suite.line or 1}}
    return {"physicalLocation": physical, **logical}


def _invocation(report: GateReport) -> dict[str, Any]:
    notifications = [
        {"level": level, "message": {"text": f"{flatten_text(case.suite)}: {sentences(case)}"}}
        for case in report.cases
        if case.outcome and (level := _LEVELS.get(case.outcome))
    ]
    times = {"startTimeUtc": moment_in(report.started), "endTimeUtc": moment_in(report.ended)}
    return {
        "executionSuccessful": report.outcome is not Outcome.FAILED,
        "toolExecutionNotifications": notifications,
        **{name: f"{moment:%Y-%m-%dT%H:%M:%SZ}" for name, moment in times.items() if moment},
    }


def _word(text: str) -> str:
    """Return a text as an identifier: no spaces, nothing that a path would take apart."""
    identifier = "".join(
        char if char.isalnum() or char in "-._" else "-" for char in flatten_text(text)
    )
    return identifier.strip("-") or "unnamed"


def _fingerprint(suite: Suite, case: Case) -> str:
    return hashlib.sha256(f"{suite.name}\0{case.name}".encode(errors="replace")).hexdigest()
