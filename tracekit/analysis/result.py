"""The result of an analysis: the document that reports and histories read, and its summary.

`result.json` is versioned by `FORMAT`. History of the format:

    1   first
    2   a check may be "not-applicable", which was "abstained" before; `remedy` and `log` of a check
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from tracekit.analysis.rule import Evidence, Fact, Finding
from tracekit.base import (
    InputError,
    Provenance,
    RecordingError,
    UsageError,
    documents,
    files,
    find_similar,
    markup,
    redaction,
    units,
)
from tracekit.tables import losses as tables_losses

FORMAT = 2


class Better(StrEnum):
    """The direction of a metric that is an improvement."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Status(StrEnum):
    """The outcome of a check.

    One that is not applicable has no sense for this work, an abstained one lacked data, a failed
    one raised an exception.
    """

    PASSED = "passed"
    FOUND = "found"
    NOT_APPLICABLE = "not-applicable"
    ABSTAINED = "abstained"
    FAILED = "failed"


@dataclass(frozen=True)
class Measurement:
    """A metric's value in this run; None, with the reason, if it is unavailable.

    `samples` are the single repetitions from which a workload or a program measured it, in order;
    `deviation` is their standard deviation, if one was stated.
    """

    name: str
    value: float | int | None
    unit: str
    better: Better
    reason: str = ""
    samples: tuple[float, ...] = ()
    deviation: float | None = None


@dataclass(frozen=True)
class CostlyWork:
    """Work of one name: its share of the time of all of the target's, calls, and ns of a call.

    A call is a run of a shader if the shader timeline was on, else an encoder or what else the
    device did as one piece. `is_named` is false for a label that does not describe the work.
    """

    name: str
    share: float
    calls: int
    mean: float
    total: int
    is_named: bool


@dataclass(frozen=True)
class RuleCheck:
    """The outcome of one rule, and its reason if it did not judge.

    `remedy` is the command whose recording brings the answer, "" if none is known; `log` the calls
    that led to the failure of a rule, a line each.
    """

    rule: str
    status: Status
    reason: str = ""
    remedy: str = ""
    log: str = ""


@dataclass(frozen=True)
class _Versioned:
    format: int = FORMAT


@dataclass(frozen=True)
class Reason:
    """The reason why rules did not judge, in words, and the rules that gave it.

    `remedy` is the command that brings the answer, "" if none is known.
    """

    words: str
    rules: tuple[str, ...]
    remedy: str = ""


_FIRST = (
    *(
        "tokens_per_second",
        "kernel_ceiling",
        "step_rate",
        "step_p50",
        "step_p99",
        "gpu_busy",
        "idle_ratio",
    ),
    *("gpu_idle_ratio", "host_idle_ratio", "start_latency_p50", "requests_completed"),
    *("requests_unfinished", "requests_rejected", "request_rate_served", "ttft_p50", "ttft_p99"),
    *("tpot_p50", "tpot_p99", "itl_p99", "steady_token_rate", "goodput"),
)
_OF_THE_SPAN = frozenset({"gpu_idle_ratio", "host_idle_ratio"})  # warm-up included


@dataclass(frozen=True)
class Result:
    """The complete content of a run for reports and histories.

    `metrics` are tracekit's measurements, `results` those that the workload reports, and `losses`
    the parts of the tables that were not read, or not believed. `costliest` is the target's work
    with the most time on the device. `findings` are ranked, the worst
    first, as of `rank_findings`; whoever shows them keeps that order.
    """

    provenance: Provenance
    metrics: tuple[Measurement, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[RuleCheck, ...] = ()
    results: tuple[Measurement, ...] = ()
    losses: tuple[tables_losses.LossRow, ...] = ()
    costliest: tuple[CostlyWork, ...] = ()
    format: int = field(default=FORMAT, kw_only=True)

    def metric(self, name: str) -> Measurement:
        """Return the metric or the workload's number of that name.

        Raise UsageError, with the nearest names as a hint, if this result does not have it.
        """
        measurement = self.find_metric(name)
        if measurement is None:
            names = [metric.name for metric in (*self.metrics, *self.results)]
            similar_names = find_similar(name, names, likeness=0.5) or names
            raise UsageError(
                f"There is no metric {name!r}.", hint=f"Near are {', '.join(similar_names)}."
            )
        return measurement

    def find_metric(self, name: str) -> Measurement | None:
        """Return the metric or the workload's number of that name, or None."""
        all_metrics = (*self.metrics, *self.results)
        return next((metric for metric in all_metrics if metric.name == name), None)

    def __repr__(self) -> str:
        """Return the result in one line: its subject, and the numbers of its parts."""
        subject = self.provenance.workload or "a recording"
        known_count = sum(metric.value is not None for metric in (*self.metrics, *self.results))
        total_count = len(self.metrics) + len(self.results)
        passed_count = sum(check.status is Status.PASSED for check in self.checks)
        return (
            f"<Result of {subject}: {len(self.findings)} findings, {known_count} of {total_count} "
            f"metrics known, {passed_count} of {len(self.checks)} checks passed>"
        )

    def _repr_html_(self) -> str:
        """Return the same as `as_html`; notebooks call it."""
        return self.as_html()

    def as_html(self) -> str:
        """Return the findings and the key numbers as HTML."""
        lines = [markup.html_line(self.summarize_checks(), strong=True)]
        if self.findings:
            rows: list[tuple[str, str, str, str]] = []
            for finding in self.findings:
                row = (str(finding.severity), finding.rule, finding.message, finding.advice)
                rows.append(row)
            lines = [markup.html_table(("severity", "finding", "message", "advice"), rows)]
        lines.append(markup.html_table(("metric", "value"), self.key_numbers().items()))
        return "".join(lines)

    @classmethod
    def load(cls, path: Path) -> "Result":
        """Read a `result.json`; raise an error if it is missing or cannot be understood."""
        try:
            content = files.read_input(path)
            number = documents.decode_json(content, _Versioned).format
            if number > FORMAT:
                raise InputError(
                    f"{path} has format {number}; this tracekit reads up to {FORMAT}.",
                    hint="Use the tracekit that wrote it, or analyze the run again.",
                )
            return documents.decode_json(content, cls)
        except FileNotFoundError:
            raise RecordingError(
                f"{path} does not exist.", hint=f"Run `tracekit analyze {path.parent}` first."
            ) from None
        except msgspec.MsgspecError as error:
            raise InputError(
                f"{path} cannot be read: {error}.",
                hint=f"Run `tracekit analyze {path.parent}` again.",
            ) from error

    def reasons(self, *states: Status) -> tuple[Reason, ...]:
        """Return the reasons of the checks with these states, the most common one first."""
        rules: dict[tuple[str, str], list[str]] = {}
        for check in self.checks:
            if check.status in states:
                answer = (check.reason or "no reason is given", check.remedy)
                rules_of_reason = rules.setdefault(answer, [])
                rules_of_reason.append(check.rule)
        most_first = sorted(rules.items(), key=lambda item: -len(item[1]))
        return tuple(Reason(words, tuple(names), remedy) for (words, remedy), names in most_first)

    def key_numbers(self) -> dict[str, str]:
        """Return the key numbers of the run in words, or all that are known if it has none.

        Shares of idle time that include the warm-up are left out if that of the steady window, to
        which findings refer, is known.
        """
        texts: dict[str, str] = {}
        for number in (*self.metrics, *self.results):
            if number.value is not None:
                texts[number.name] = units.quantity(number.value, number.unit)
        for number in self.results:
            if number.value is None:
                texts[number.name] = units.unavailable(number.reason)
        if "idle_ratio" in texts:
            for name in _OF_THE_SPAN:
                texts.pop(name, None)
        key_texts: dict[str, str] = {}
        for name in (*_FIRST, *(number.name for number in self.results)):
            if name in texts:
                key_texts[name] = texts[name]
        return key_texts or texts

    def summarize_checks(self) -> str:
        """Return how many checks passed of those that apply, and the outcomes of the others."""
        numbers_by_status = Counter(check.status for check in self.checks)
        applicable = numbers_by_status.total() - numbers_by_status[Status.NOT_APPLICABLE]
        if not numbers_by_status.total():
            return "Nothing was checked."
        if not applicable:
            return "No check applies to this recording."
        passed = numbers_by_status[Status.PASSED]
        if passed == applicable:
            return f"Passed all checks that apply: {passed}."
        others: list[str] = []
        for status, words in _OTHER_OUTCOMES.items():
            if numbers_by_status[status]:
                others.append(f"{numbers_by_status[status]} {words}")
        sentence = f"Passed {passed} of {applicable} checks that apply"
        return f"{sentence}; {', '.join(others)}."

    def redact(self, redact: redaction.Redaction) -> "Result":
        """Return it without names of persons or machines."""
        provenance = redaction.redact_provenance(self.provenance, redact)
        metrics = tuple(replace(metric, reason=redact(metric.reason)) for metric in self.metrics)
        findings = tuple(_redact_finding(finding, redact) for finding in self.findings)
        checks = tuple(_redact_check(check, redact) for check in self.checks)
        losses = tuple(replace(loss, text=redact(loss.text)) for loss in self.losses)
        costliest = tuple(replace(work, name=redact(work.name)) for work in self.costliest)
        return replace(
            self,
            provenance=provenance,
            metrics=metrics,
            findings=findings,
            checks=checks,
            losses=losses,
            costliest=costliest,
        )


_OTHER_OUTCOMES = {
    Status.FOUND: "found something",
    Status.ABSTAINED: "could not be judged",
    Status.FAILED: "failed",
}


def _redact_check(check: RuleCheck, redact: redaction.Redaction) -> RuleCheck:
    reason = redact(check.reason)
    log = redact(check.log)
    return replace(check, reason=reason, log=log)


def _redact_finding(finding: Finding, redact: redaction.Redaction) -> Finding:
    facts: list[Fact] = []
    for fact in finding.facts:
        value = fact.value
        if isinstance(value, str):
            value = redact(value)
        facts.append(replace(fact, value=value))
    windows: list[Evidence] = []
    for window in finding.evidence:
        note = redact(window.note)
        windows.append(replace(window, note=note))
    message = redact(finding.message)
    advice = redact(finding.advice)
    return replace(
        finding,
        message=message,
        advice=advice,
        facts=tuple(facts),
        evidence=tuple(windows),
    )
