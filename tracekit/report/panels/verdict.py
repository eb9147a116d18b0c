"""The verdict: one sentence, and the few numbers that matter."""

from collections import Counter
from dataclasses import dataclass

from tracekit.analysis.finding import Severity
from tracekit.analysis.result import Measurement, Result, Status
from tracekit.report.naming import title
from tracekit.report.panel import Context, Panel, Tables
from tracekit.report.panels.findings import ranked
from tracekit.report.sources import of_metric
from tracekit.report.units import count, quantity, unavailable

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
class Headline:
    """A number that matters; `source` says whose clock it is read from."""

    title: str
    value: str
    source: str
    known: bool


def context(result: Result, tables: Tables) -> Context:
    """Say in one sentence how the run did, and show its headlines."""
    tone, sentence = verdict_of(result)
    stages = result.provenance.stages.items()
    return {
        "tone": tone,
        "sentence": sentence,
        "numbers": [_headline(one, tables) for one in _chosen(result.metrics)],
        "tally": _tally(result),
        "broken": [(name, one) for name, one in stages if one.state in {"failed", "interrupted"}],
    }


def verdict_of(result: Result) -> tuple[str, str]:
    """Return the tone (error, warning, unclear or good) and the sentence."""
    order = ranked(result.findings)
    errors = [one for one in order if one.severity is Severity.ERROR]
    warnings = [one for one in order if one.severity is Severity.WARNING]
    if errors:
        return "error", f"Do not trust these numbers yet: {_lower(errors[0].message)}"
    if warnings:
        return "warning", _costs(len(warnings), warnings[0].message)
    states = Counter(check.status for check in result.checks)
    open_ones = states[Status.ABSTAINED] + states[Status.FAILED]
    if not result.checks:
        return "unclear", "Nothing was checked, so nothing can be said."
    if states[Status.PASSED] + states[Status.FOUND] == 0:
        return "unclear", f"Nothing can be said: none of {_checks(open_ones)} could be made."
    if open_ones:
        made = count(len(result.checks) - open_ones)
        return "unclear", (
            f"No fault was found by {made} of {_checks(len(result.checks))}; "
            f"{count(open_ones)} could not be made."
        )
    return "good", f"No fault was found by {_checks(len(result.checks))}, and all could be made."


def _costs(number: int, first: str) -> str:
    if number == 1:
        return f"One thing costs time: {_lower(first)}"
    return f"{count(number)} things cost time. The first: {_lower(first)}"


def _checks(number: int) -> str:
    return f"{count(number)} check{'' if number == 1 else 's'}"


def _lower(message: str) -> str:
    first, *_ = message.split(" ", maxsplit=1)
    plain = first.isalpha() and first.istitle()
    return message[0].lower() + message[1:] if plain else message


def _chosen(metrics: tuple[Measurement, ...]) -> list[Measurement]:
    by_name = {one.name: one for one in metrics}
    first = [by_name[name] for name in _FIRST if name in by_name]
    order = first + [one for one in metrics if one.name not in _FIRST]
    known = [one for one in order if one.value is not None]
    return (known or order)[:MOST_NUMBERS]


def _headline(one: Measurement, tables: Tables) -> Headline:
    if one.value is None:
        return Headline(title(one.name), "not available", unavailable(one.reason), known=False)
    value = quantity(one.value, one.unit)
    return Headline(title(one.name), value, of_metric(tables, one.name), known=True)


def _tally(result: Result) -> list[tuple[str, int, str]]:
    states = Counter(check.status for check in result.checks)
    return [
        ("findings", len(result.findings), "findings"),
        ("checks", states[Status.PASSED], "passed"),
        ("checks", states[Status.ABSTAINED], "could not be checked"),
        ("checks", states[Status.FAILED], "failed to run"),
    ]


verdict = Panel("verdict", "Verdict", context)
