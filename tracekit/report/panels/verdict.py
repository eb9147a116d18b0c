"""The verdict: one sentence, and the few numbers that matter."""

from collections import Counter
from dataclasses import dataclass

from tracekit.analysis.result import Check, Result, Status
from tracekit.analysis.rule import Severity
from tracekit.base.units import count
from tracekit.report.headlines import headlines
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.panels.findings import ranked
from tracekit.report.text import first_sentence


@dataclass(frozen=True)
class Verdict:
    """A sentence, to be followed by the first one of a finding; its tone is a word of the style.

    Tones are error, warning, unclear and good.
    """

    tone: str
    lead: str
    message: str = ""


def context(result: Result, tables: Tables) -> Context:
    """Say in one sentence how the run did, and show its headlines."""
    return {
        "verdict": verdict_of(result),
        "numbers": headlines(result, tables),
        "tally": _tally(result),
        "broken": list(result.provenance.unfinished.items()),
    }


def verdict_of(result: Result) -> Verdict:
    """Judge a run by its worst findings; without any, by how many checks could be made."""
    order = ranked(result.findings)
    errors = [one for one in order if one.severity is Severity.ERROR]
    warnings = [one for one in order if one.severity is Severity.WARNING]
    if errors:
        return Verdict(
            "error", "Do not trust these numbers yet:", first_sentence(errors[0].message)
        )
    if warnings:
        number = len(warnings)
        lead = (
            f"{count(number)} things cost time. The first:"
            if number > 1
            else "One thing costs time:"
        )
        return Verdict("warning", lead, first_sentence(warnings[0].message))
    return _without_fault(result.checks)


def _without_fault(checks: tuple[Check, ...]) -> Verdict:
    states = Counter(check.status for check in checks)
    open_ones = states[Status.ABSTAINED] + states[Status.FAILED]
    made = len(checks) - open_ones
    if not checks:
        return Verdict("unclear", "Nothing was checked, so nothing can be said.")
    if made == 0:
        return Verdict(
            "unclear", f"Nothing can be said: none of {_checks(open_ones)} could be made."
        )
    if open_ones:
        lead = f"No fault was found by {count(made)} of {_checks(len(checks))}"
        return Verdict("unclear", f"{lead}; {count(open_ones)} could not be made.")
    return Verdict("good", f"No fault was found by {_checks(len(checks))}, and all could be made.")


def _checks(number: int) -> str:
    return f"{count(number)} check{'' if number == 1 else 's'}"


def _tally(result: Result) -> list[tuple[str, int, str]]:
    states = Counter(check.status for check in result.checks)
    found = len(result.findings)
    return [
        ("findings", found, "finding" if found == 1 else "findings"),
        ("checks", states[Status.PASSED], "passed"),
        ("checks", states[Status.ABSTAINED], "could not be checked"),
        ("checks", states[Status.FAILED], "failed to run"),
    ]


verdict = Panel("verdict", "Verdict", context)
