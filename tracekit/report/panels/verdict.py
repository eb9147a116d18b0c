"""The verdict: one sentence, and the few numbers that matter."""

from collections import Counter
from dataclasses import dataclass

from tracekit.analysis.finding import Severity
from tracekit.analysis.result import Check, Measurement, Result, Status
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.panels.findings import ranked
from tracekit.report.sources import of_metric
from tracekit.units import count, quantity, unavailable

MOST_NUMBERS = 4
_FIRST = (
    "tokens_per_second",
    "gpu_idle_ratio",
    "host_idle_ratio",
    "gpu_busy",
    "step_p50",
    "start_latency_p50",
    "host_busy",
)


@dataclass(frozen=True)
class Verdict:
    """A sentence, to be followed by the message of a finding; its tone is a word of the style.

    Tones are error, warning, unclear and good.
    """

    tone: str
    lead: str
    message: str = ""


@dataclass(frozen=True)
class Headline:
    """A metric that matters; `source` says whose clock it is read from."""

    name: str
    value: str
    source: str
    known: bool


def context(result: Result, tables: Tables) -> Context:
    """Say in one sentence how the run did, and show its headlines."""
    return {
        "verdict": verdict_of(result),
        "numbers": [_headline(one, tables) for one in _chosen(result.metrics)],
        "tally": _tally(result),
        "broken": list(result.provenance.unfinished.items()),
    }


def verdict_of(result: Result) -> Verdict:
    """Judge a run by its worst findings; without any, by how many checks could be made."""
    order = ranked(result.findings)
    errors = [one for one in order if one.severity is Severity.ERROR]
    warnings = [one for one in order if one.severity is Severity.WARNING]
    if errors:
        return Verdict("error", "Do not trust these numbers yet:", errors[0].message)
    if warnings:
        number = len(warnings)
        lead = (
            f"{count(number)} things cost time. The first:"
            if number > 1
            else "One thing costs time:"
        )
        return Verdict("warning", lead, warnings[0].message)
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


def _chosen(metrics: tuple[Measurement, ...]) -> list[Measurement]:
    by_name = {one.name: one for one in metrics}
    first = [by_name[name] for name in _FIRST if name in by_name]
    order = first + [one for one in metrics if one.name not in _FIRST]
    known = [one for one in order if one.value is not None]
    return (known or order)[:MOST_NUMBERS]


def _headline(one: Measurement, tables: Tables) -> Headline:
    if one.value is None:
        return Headline(one.name, "not available", unavailable(one.reason), known=False)
    value = quantity(one.value, one.unit)
    return Headline(one.name, value, of_metric(tables, one.name), known=True)


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
