"""SARIF 2.1.0, which code scanning shows next to the plan's lines.

Only regressions are results. GitHub shows a result as an alert whatever its `kind`, even one that
passed; so failed and inconclusive cases are among the tool's notifications, where SARIF expects
the reasons why a tool could not answer.
"""

import hashlib
from typing import Any
from urllib.parse import quote

from tracekit.base import documents, streams
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.text import flatten_text, sentences
from tracekit.nightly.history.night import Outcome, moment_in

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Outcome | None, str] = {
    Outcome.FAILED: "error",
    Outcome.INCONCLUSIVE: "warning",
    Outcome.UNJUDGED: "warning",
}


def sarif(report: GateReport, version: str) -> bytes:
    """Return the report as SARIF; `version` is that of tracekit."""
    regressions: list[tuple[Suite, Case]] = []
    cases_by_rule: dict[str, Case] = {}
    for suite in report.suites:
        for case in suite.cases:
            if case.outcome is Outcome.REGRESSION:
                regressions.append((suite, case))
                cases_by_rule[_word(case.name)] = case
    rules = list(cases_by_rule)
    driver = {
        "name": "tracekit",
        "version": version,
        "rules": [_rule(name, case) for name, case in cases_by_rule.items()],
    }
    environment: dict[str, str] = {}
    for name, value in report.environment.items():
        environment[streams.visible(name)] = streams.visible(value)
    run = {
        "tool": {"driver": driver},
        "results": [_result(suite, case, report, rules) for suite, case in regressions],
        "invocations": [_invocation(report)],
        # The same every night, so that an alert that is gone is closed.
        "automationDetails": {"id": f"tracekit/{_word(report.plan or 'runs')}/"},
        "columnKind": "unicodeCodePoints",
        "properties": {"outcome": str(report.outcome), "environment": environment},
    }
    return documents.encode_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str, case: Case) -> dict[str, Any]:
    subject = "A finding" if case.kind == "finding" else "A regression"
    return {
        "id": name,
        "shortDescription": {"text": f"{subject}: {flatten_text(case.name)}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(suite: Suite, case: Case, report: GateReport, rules: list[str]) -> dict[str, Any]:
    rule = _word(case.name)
    return {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "kind": "fail",
        "level": "error",
        "message": {"text": f"{flatten_text(suite.name)}: {sentences(case)}"},
        "locations": [_location(suite, report)],
        # The same regression of the next night is the same alert.
        "partialFingerprints": {"tracekit/v1": _fingerprint(suite, case)},
        "properties": _case_properties(suite, case),
    }


def _case_properties(suite: Suite, case: Case) -> dict[str, Any]:
    """Return the numbers of a case and its search, as far as they are known."""
    properties = {
        "unit": streams.visible(case.unit),
        "candidate": case.candidate,
        "reference": case.reference,
        "change": case.change,
        "low": case.low,
        "high": case.high,
        "threshold": case.threshold,
        "pairs": case.pairs,
        "reproduced": case.reproduced,
        "search": streams.visible(suite.labels.get("search", "")),
    }
    return {name: value for name, value in properties.items() if value not in (None, "")}


def _location(suite: Suite, report: GateReport) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if report.file:
        file = {"uri": quote(streams.visible(report.file)), "uriBaseId": "%SRCROOT%"}
        region = {"startLine": suite.line or 1}
        location["physicalLocation"] = {"artifactLocation": file, "region": region}
    location["logicalLocations"] = [{"name": flatten_text(suite.name)}]
    return location


def _invocation(report: GateReport) -> dict[str, Any]:
    notifications: list[dict[str, Any]] = []
    for case in report.cases:
        if case.outcome in _LEVELS:
            text = f"{flatten_text(case.suite)}: {sentences(case)}"
            notifications.append({"level": _LEVELS[case.outcome], "message": {"text": text}})
    invocation: dict[str, Any] = {
        "executionSuccessful": report.outcome is not Outcome.FAILED,
        "toolExecutionNotifications": notifications,
    }
    times = {"startTimeUtc": report.started, "endTimeUtc": report.ended}
    for name, time in times.items():
        moment = moment_in(time)
        if moment:
            invocation[name] = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return invocation


def _word(text: str) -> str:
    """Return a text as an identifier: without spaces and without separators of paths."""
    identifier = ""
    for char in flatten_text(text):
        identifier += char if char.isalnum() or char in "-._" else "-"
    return identifier.strip("-") or "unnamed"


def _fingerprint(suite: Suite, case: Case) -> str:
    return hashlib.sha256(f"{suite.name}\0{case.name}".encode(errors="replace")).hexdigest()
