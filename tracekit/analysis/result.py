"""The result of an analysis: the document that reports and histories read, and its summary.

`result.json` is versioned by `FORMAT`. History of the format:

    1   first
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from tracekit.analysis.rule import Fact, Finding
from tracekit.base import (
    InputError,
    Provenance,
    RecordingError,
    decode_json,
    files,
    redaction,
    units,
)
from tracekit.tables import losses as tables_losses

FORMAT = 1


class Better(StrEnum):
    """The direction of a metric that is an improvement."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Status(StrEnum):
    """The outcome of a check; an abstained one lacked data, a failed one raised an exception."""

    PASSED = "passed"
    FOUND = "found"
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
class RuleCheck:
    """The outcome of one rule, and its reason for abstaining or failing."""

    rule: str
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """The complete content of a run for reports and histories.

    `metrics` are tracekit's measurements, `results` those that the workload reports, and `losses`
    the parts of the tables that were not read, or not believed. `findings` are ranked, the worst
    first, as of `rank_findings`; whoever shows them keeps that order.
    """

    provenance: Provenance
    metrics: tuple[Measurement, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[RuleCheck, ...] = ()
    results: tuple[Measurement, ...] = ()
    losses: tuple[tables_losses.LossRow, ...] = ()
    format: int = field(default=FORMAT, kw_only=True)

    def metric(self, name: str) -> Measurement | None:
        """Return the metric `name`, or None if this result does not have it."""
        named_metrics = (metric for metric in self.metrics if metric.name == name)
        return next(named_metrics, None)


def load(path: Path) -> Result:
    """Read a `result.json`; raise an error if it is missing or cannot be understood."""
    try:
        content = files.read_input(path)
        number = decode_json(content, _Versioned).format
        if number > FORMAT:
            raise InputError(
                f"{path} has format {number}; this tracekit reads up to {FORMAT}.",
                hint="Use the tracekit that wrote it, or analyze the run again.",
            )
        return decode_json(content, Result)
    except FileNotFoundError:
        raise RecordingError(
            f"{path} does not exist.", hint=f"Run `tracekit analyze {path.parent}` first."
        ) from None
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} cannot be read: {error}.", hint=f"Run `tracekit analyze {path.parent}` again."
        ) from error


@dataclass(frozen=True)
class _Versioned:
    format: int = FORMAT


@dataclass(frozen=True)
class Reason:
    """The reason why rules did not judge, in words, and the rules that gave it."""

    words: str
    rules: tuple[str, ...]


def reasons(checks: Iterable[RuleCheck], *states: Status) -> tuple[Reason, ...]:
    """Return the reasons of the checks with these states, the most common one first."""
    rules: dict[str, list[str]] = {}
    for check in checks:
        if check.status in states:
            rules_of_reason = rules.setdefault(check.reason or "no reason is given", [])
            rules_of_reason.append(check.rule)
    most_first = sorted(rules.items(), key=lambda item: -len(item[1]))
    return tuple(Reason(words, tuple(names)) for words, names in most_first)


_FIRST = (
    *("tokens_per_second", "step_rate", "step_p50", "step_p99", "gpu_busy", "idle_ratio"),
    *("gpu_idle_ratio", "host_idle_ratio", "start_latency_p50", "requests_completed"),
    *("requests_unfinished", "requests_rejected", "request_rate_served", "ttft_p50", "ttft_p99"),
    *("tpot_p50", "tpot_p99", "itl_p99", "steady_token_rate", "goodput"),
)
_OF_THE_SPAN = frozenset({"gpu_idle_ratio", "host_idle_ratio"})  # warm-up included


def numbers(result: Result) -> dict[str, str]:
    """Return the key numbers of a run, or all that are known if it has none of those.

    Shares of idle time that include the warm-up are left out if that of the steady window, to which
    findings refer, is known.
    """
    measurements = (*result.metrics, *result.results)
    texts = {
        number.name: units.quantity(number.value, number.unit)
        for number in measurements
        if number.value is not None
    }
    texts |= {
        number.name: units.unavailable(number.reason)
        for number in result.results
        if number.value is None
    }
    if "idle_ratio" in texts:
        texts = {name: value for name, value in texts.items() if name not in _OF_THE_SPAN}
    preferred_names = (*_FIRST, *(number.name for number in result.results))
    return {name: texts[name] for name in preferred_names if name in texts} or texts


def describe_saving(finding: Finding) -> str:
    """Return the possible saving in words, and the other finding that includes it."""
    if not finding.saving:
        return ""
    saving_per_token = finding.saving_per_token
    per_token = ""
    if saving_per_token is not None:
        per_token = f", {units.duration(saving_per_token)} per token"
    overlap_note = ""
    if finding.within:
        overlap_note = f"; {finding.within} counts that too"
    return f" Could save {saving_range(finding)}{per_token}{overlap_note}."


def saving_range(finding: Finding) -> str:
    """Return the possible saving in words: from the least to the most, or up to the estimate."""
    facts = {fact.name: fact.value for fact in finding.facts}
    minimum = facts.get("saving_least")
    maximum = facts.get("saving_most")
    if isinstance(minimum, int) and isinstance(maximum, int) and minimum:
        lower_text = units.duration(minimum)
        upper_text = units.duration(maximum)
        if lower_text == upper_text:
            return lower_text
        return f"{lower_text} to {upper_text}"
    return f"up to {units.duration(maximum if isinstance(maximum, int) else finding.saving or 0)}"


def silence(result: Result) -> str:
    """Return the sentence that nothing was found, with the number of the rules that judged."""
    are_passed = [check.status is Status.PASSED for check in result.checks]
    judged = sum(are_passed)
    if judged == len(result.checks):
        return "No finding."
    return f"No finding, by the {judged} of {len(result.checks)} rules that could judge."


def redact_result(result: Result, redact: redaction.Redaction) -> Result:
    """Return the result, without names of persons or machines."""
    provenance = redaction.redact_provenance(result.provenance, redact)
    metrics = tuple(replace(metric, reason=redact(metric.reason)) for metric in result.metrics)
    findings = tuple(_redact_finding(finding, redact) for finding in result.findings)
    checks = tuple(replace(check, reason=redact(check.reason)) for check in result.checks)
    losses = tuple(replace(loss, text=redact(loss.text)) for loss in result.losses)
    return replace(
        result,
        provenance=provenance,
        metrics=metrics,
        findings=findings,
        checks=checks,
        losses=losses,
    )


def _redact_finding(finding: Finding, redact: redaction.Redaction) -> Finding:
    message = redact(finding.message)
    advice = redact(finding.advice)
    facts = tuple(_redacted_fact(fact, redact) for fact in finding.facts)
    redacted_evidence = tuple(
        replace(evidence, note=redact(evidence.note)) for evidence in finding.evidence
    )
    return replace(
        finding,
        message=message,
        advice=advice,
        facts=facts,
        evidence=redacted_evidence,
    )


def _redacted_fact(fact: Fact, redact: redaction.Redaction) -> Fact:
    if not isinstance(fact.value, str):
        return fact
    return replace(fact, value=redact(fact.value))
