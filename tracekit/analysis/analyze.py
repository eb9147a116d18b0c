"""Tables in, metrics and findings out."""

import logging
import traceback
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from tracekit.analysis.costliest import rank_work
from tracekit.analysis.crowd import crowd_of, explain_crowd
from tracekit.analysis.given import Given, recorded_tables
from tracekit.analysis.inject import NotApplicable, Unavailable, inject
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.metrics.metric import Metric
from tracekit.analysis.program import ProgramKind
from tracekit.analysis.ranking import rank_findings
from tracekit.analysis.remedies import applies_to, command_for
from tracekit.analysis.result import Better, CostlyWork, Measurement, Result, RuleCheck, Status
from tracekit.analysis.rule import Fact, Finding, Rule, Settings
from tracekit.analysis.rules import RULES
from tracekit.analysis.scope import steady_tokens
from tracekit.analysis.wording import UNCOMPARED, put_advice, put_into_words
from tracekit.base import Provenance, TracekitError, UsageError
from tracekit.tables import Tables, losses

_VALUES = frozenset(
    {
        ("gpu-counter-value", "value"),
        ("metal-gpu-counter-intervals", "value"),
        ("metal-gpu-counter-intervals", "percent-value"),
    }
)
_NAMES = frozenset({("gpu-performance-state-intervals", "gpu-performance-state")})


def add_doubts(finding: Finding, uncompared: AbstractSet[tuple[str, str]]) -> Finding:
    """Return the finding, with a fact that names any evidence of uncertain reading.

    Such values are those of GPU counters, and the names of the GPU's performance states.
    """
    unsure: list[str] = []
    if uncompared & _VALUES and "gpu_counters" in recorded_tables(RULES[finding.rule].judge):
        unsure.append("values of the counters")
    # Many rules also read performance states; only evidence shows that a finding rests on them.
    if uncompared & _NAMES and any(
        evidence.table == "gpu_performance_states" for evidence in finding.evidence
    ):
        unsure.append("names of performance states")
    if not unsure:
        return finding
    return replace(finding, facts=(*finding.facts, Fact(UNCOMPARED, " and ".join(unsure))))


_TRACER = "xctrace"
log = logging.getLogger(__name__)


def analyze(
    tables: Mapping[str, pd.DataFrame], provenance: Provenance, settings: Settings | None = None
) -> Result:
    """Measure all metrics and apply all rules.

    The result holds each unknown value with its reason. An exception in a metric or a rule affects
    only its own entry. Findings are sorted by severity, worst first, then by saving.
    """
    settings = settings or {}
    unknown = sorted(set(settings) - set(RULES))
    if unknown:
        raise UsageError(
            f"There is no rule {unknown[0]!r}.", hint=f"There are: {', '.join(RULES)}."
        )
    given_tables = Given(tables, provenance, used_tables=used_tables() | {"results"})
    silence = describe_silence(tables, provenance)
    judged = [
        doubt_passed(judge(rule, given_tables, settings.get(name, {})), silence)
        for name, rule in RULES.items()
    ]
    kind = program_kind(given_tables)
    uncompared = (
        tables.uncompared_columns if isinstance(tables, Tables) else frozenset[tuple[str, str]]()
    )
    findings = [
        put_into_words(add_doubts(put_advice(finding, kind), uncompared))
        for _, rule_findings in judged
        for finding in rule_findings
    ]
    tokens = None
    with suppress(Unavailable):
        tokens = int(inject(steady_tokens, given_tables))
    if crowd := explain_crowd(crowd_of(tables, provenance)):
        provenance = replace(provenance, warnings=(*provenance.warnings, crowd))
    return Result(
        provenance,
        metrics=tuple(measure(metric, given_tables) for metric in METRICS.values()),
        results=results_of(given_tables),
        findings=tuple(complete_findings(rank_findings(findings), tokens)),
        checks=tuple(check for check, _ in judged),
        losses=losses.rows_of(given_tables.belief_losses),
        costliest=list_costliest(given_tables),
    )


def list_costliest(tables: Mapping[str, Any]) -> tuple[CostlyWork, ...]:
    """Return the target's work with the most time on the device; empty if none is known."""
    with suppress(Unavailable):
        return inject(rank_work, tables)
    return ()


def describe_silence(tables: Mapping[str, pd.DataFrame], provenance: Provenance) -> str:
    """Return why a recording of a workload shows nothing of it; empty if it shows something.

    Without its marks, nothing shows that the recorded work is the workload's.
    """
    if not provenance.workload or provenance.recorder != _TRACER:
        return ""
    with suppress(KeyError, TracekitError):
        if not tables["phases"].empty:
            return ""
    return (
        "the recording has no marks of its workload, so nothing shows that its work was recorded."
    )


def doubt_passed(
    judged: tuple[RuleCheck, list[Finding]], silence: str
) -> tuple[RuleCheck, list[Finding]]:
    """Return the outcome of a rule; one that passed abstains if the workload was silent."""
    check, findings = judged
    if silence and check.status is Status.PASSED:
        check = replace(check, status=Status.ABSTAINED, reason=silence)
    return check, findings


def program_kind(tables: Mapping[str, Any]) -> ProgramKind:
    """Return the kind of program that the target is; unknown if its tables cannot be read."""
    with suppress(KeyError, TracekitError):
        return tables["program"].kind
    return ProgramKind.UNKNOWN


def used_tables() -> frozenset[str]:
    """Return the names of the recorded tables that metrics and rules use."""
    metrics, rules = METRICS.values(), RULES.values()
    functions = [*(metric.measure for metric in metrics), *(rule.judge for rule in rules)]
    return frozenset(name for function in functions for name in recorded_tables(function))


def results_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Measurement, ...]:
    """Return the measurements that the workload reports, in its own order; empty without any."""
    try:
        frame = tables["results"]
    except (KeyError, TracekitError):
        return ()
    return tuple(
        Measurement(
            str(row["name"]),
            None if pd.isna(row["value"]) else float(row["value"]),
            _text(row["unit"]),
            _better(_text(row["better"])),
            _text(row["reason"]),
            _samples(row.get("samples")),
            None if pd.isna(row.get("deviation")) else float(row["deviation"]),
        )
        for row in frame.to_dict("records")
    )


def _better(text: str) -> Better:
    """Return the better direction of a measurement; "neither" for a word that is unknown here."""
    if text in set(Better):
        return Better(text)
    return Better.NEITHER


def _samples(cell: object) -> tuple[float, ...]:
    """Return the numbers of a JSON array; an empty tuple for any other cell."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(_text(cell), type=tuple[float, ...])
    return ()


def complete_findings(findings: Iterable[Finding], tokens: int | None) -> list[Finding]:
    """Return the findings with savings per token.

    `within` is kept only if that rule has a finding with a saving, which then includes this one's.
    """
    findings = list(findings)
    rules_with_saving = {finding.rule for finding in findings if finding.saving}
    return [
        replace(
            finding,
            within=finding.within if finding.within in rules_with_saving else "",
            saving_per_token=None
            if finding.saving is None or not tokens
            else finding.saving / tokens,
        )
        for finding in findings
    ]


def _text(cell: object) -> str:
    return "" if pd.isna(cell) else str(cell)  # pyright: ignore[reportArgumentType, reportCallIssue]


def measure(metric: Metric, tables: Mapping[str, pd.DataFrame]) -> Measurement:
    """Return the metric's value, or None with the reason."""
    try:
        value = inject(metric.measure, tables)
    except Unavailable as reason:
        return Measurement(metric.name, None, metric.unit, metric.better, str(reason))
    except Exception as error:
        log.exception("The metric %s broke; the others are not affected.", metric.name)
        broken = f"the metric broke: {error!r}"
        return Measurement(metric.name, None, metric.unit, metric.better, broken)
    return Measurement(metric.name, value, metric.unit, metric.better)


def judge(
    rule: Rule, tables: Mapping[str, Any], settings: Mapping[str, object]
) -> tuple[RuleCheck, list[Finding]]:
    """Return the outcome of the rule, and its findings before they are put into words."""
    try:
        raw_findings: list[Finding] = list(inject(rule.judge, tables, settings))
    except NotApplicable as reason:
        return RuleCheck(rule.name, Status.NOT_APPLICABLE, str(reason)), []
    except Unavailable as reason:
        provenance = tables.get("provenance") or Provenance()
        if not applies_to(reason.remedy, provenance):
            return RuleCheck(rule.name, Status.NOT_APPLICABLE, str(reason)), []
        remedy = command_for(reason.remedy, provenance)
        return RuleCheck(rule.name, Status.ABSTAINED, str(reason), remedy), []
    except UsageError:
        raise
    except Exception as error:
        log.exception("The rule %s broke; the others are not affected.", rule.name)
        broken = f"the rule broke: {error!r}"
        return RuleCheck(rule.name, Status.FAILED, broken, log=list_calls(error)), []
    findings = [replace(finding, rule=rule.name) for finding in raw_findings]
    return RuleCheck(rule.name, Status.FOUND if findings else Status.PASSED), findings


def list_calls(error: Exception) -> str:
    """Return the calls that led to an error, a line each, the innermost last; without folders."""
    calls = traceback.extract_tb(error.__traceback__)
    lines: list[str] = []
    for call in calls:
        file = Path(call.filename).name
        lines.append(f"{file}:{call.lineno} in {call.name}: {call.line}")
    return "\n".join(lines)
