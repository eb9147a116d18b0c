"""JUnit XML: a suite for each capture, a case for each metric that decides.

There is no single standard. This is the format that Jenkins' xUnit plugin calls JUnit 10, which
pytest writes as well and which other readers take. Metrics that are followed only are not tests:
they are among the properties, so that nobody counts them as passed.
"""

from typing import Any

from lxml import etree

from tracekit.base import streams
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.text import NOTHING, numbers, sentences
from tracekit.nightly.history.night import Outcome

_TAGS: dict[Outcome | None, str] = {
    Outcome.REGRESSION: "failure",
    Outcome.FAILED: "error",
    Outcome.INCONCLUSIVE: "skipped",
    Outcome.UNJUDGED: "skipped",
}


def junit(report: GateReport) -> bytes:
    """Return the report as JUnit XML: regression is failure, failed error, inconclusive skipped."""
    attributes = _attributes(name=report.title, **_counts(report.suites))
    root = etree.Element("testsuites", attributes)
    for suite in report.suites:
        root.append(_suite(suite, report))
    root.addprevious(etree.Comment(" made by tracekit "))
    return etree.tostring(
        root.getroottree(), encoding="UTF-8", xml_declaration=True, pretty_print=True
    )


def _suite(suite: Suite, report: GateReport) -> Any:
    deciding = [case for case in suite.cases if case.outcome is not None]
    skipped = [case for case in deciding if _TAGS.get(case.outcome) == "skipped"]
    suite_counts = _counts((suite,))
    attributes = _attributes(
        name=suite.name,
        **suite_counts,
        skipped=str(len(skipped)),
        time=f"{suite.seconds:.3f}",
        timestamp=report.started,
        hostname=report.machine or "localhost",  # readers expect this for an unknown host
    )
    element = etree.Element("testsuite", attributes)
    properties = etree.SubElement(element, "properties")
    for name, value in _properties(suite, report).items():
        if value:
            etree.SubElement(properties, "property", _attributes(name=name, value=value))
    for case in deciding:
        element.append(_case(case))
    if suite.reason:
        etree.SubElement(element, "system-out").text = _text(suite.reason)
    return element


def _case(case: Case) -> Any:
    element = etree.Element("testcase", _attributes(classname=case.suite, name=case.name, time="0"))
    tag = _TAGS.get(case.outcome)
    if tag:
        attributes = _attributes(type=str(case.outcome), message=sentences(case))
        failure = etree.SubElement(element, tag, attributes)
        failure.text = _text(sentences(case))
    lines = _numbers(case)
    if lines:
        output = etree.SubElement(element, "system-out")
        output.text = _text("\n".join(lines))
    return element


def _numbers(case: Case) -> list[str]:
    """Return the numbers of a case that are known, one a line."""
    case_facts: dict[str, object] = dict(numbers(case))
    case_facts["pairs"] = case.pairs or None
    case_facts["baseline"] = case.baseline or None
    case_facts["reproduced"] = case.reproduced
    return [
        f"{name}: {value}" for name, value in case_facts.items() if value not in {None, NOTHING}
    ]


def _properties(suite: Suite, report: GateReport) -> dict[str, str]:
    """Return facts of the night, labels of the suite, and cases that are followed only."""
    properties = {"night": report.subject, "commit": report.commit}
    properties |= report.environment
    properties |= suite.labels
    for case in suite.cases:
        if case.outcome is not None:
            continue
        if case.kind == "finding":
            properties[f"followed {case.name}"] = case.message
        else:
            properties[f"followed {case.name}"] = "; ".join(_numbers(case))
    return properties


def _counts(suites: tuple[Suite, ...]) -> dict[str, str]:
    outcomes: list[Outcome] = []
    for suite in suites:
        case_outcomes = [case.outcome for case in suite.cases if case.outcome is not None]
        outcomes += case_outcomes
    failures = outcomes.count(Outcome.REGRESSION)
    errors = outcomes.count(Outcome.FAILED)
    return {
        "tests": str(len(outcomes)),
        "failures": str(failures),
        "errors": str(errors),
    }


def _attributes(**values: str) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _text(text: str) -> str:
    """Return the text in which visible characters replace those that XML lacks or nobody sees."""
    return streams.visible(text).translate({0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD})
