"""The verdict: one sentence, and the few numbers that matter."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import count, percent, quantity, unavailable
from tracekit.report.panel import (
    REPLAY,
    REPORTED,
    Context,
    Tables,
    is_without_gpu_work,
    of_metric,
    of_target,
    panel,
    rows,
)

MOST_NUMBERS = 4
_SERVED = ("ttft_p50", "tpot_p50", "tokens_per_second", "request_rate_served")
_FIRST = (
    "tokens_per_second",
    "idle_ratio",
    "gpu_idle_ratio",
    "host_idle_ratio",
    "gpu_busy",
    "step_p50",
    "start_latency_p50",
    "pipelines_made",
    "compile_time",
    "idle_on_purpose",
    "host_busy",
)
_OF_THE_SPAN = {"gpu_idle_ratio", "host_idle_ratio"}  # warm-up included: not what findings say
_STEP_TIME = "step_time_"
_WORST = {"ttft_p50": "ttft_p99", "tpot_p50": "tpot_p99"}


def headlines(result: Result, tables: Tables) -> list[Context]:
    """Return the numbers that a reader came for, at most `MOST_NUMBERS`.

    A comparison has its speed-up first, known or not, and then what a step of each takes; a
    server has its latencies, a program the tokens/s that it printed.
    """
    metrics_by_name = {metric.name: metric for metric in (*result.metrics, *result.results)}
    headline_rows: list[Context] = []
    for name in list(dict.fromkeys(_order_names(result, metrics_by_name)))[:MOST_NUMBERS]:
        metric, worst, note = metrics_by_name[name], metrics_by_name.get(_WORST.get(name, "")), ""
        if name == "speedup":
            note = _sureness({measurement.name: measurement for measurement in result.results})
        elif worst is not None and worst.value is not None:
            note = f"99th percentile {quantity(worst.value, worst.unit)}"
        row = {"name": name, "known": metric.value is not None, "note": note}
        if metric.value is None:
            row |= {"value": "not available", "source": unavailable(metric.reason), "note": ""}
        else:
            source = REPORTED if metric in result.results else of_metric(tables, name)
            row |= {"value": quantity(metric.value, metric.unit), "source": source}
        headline_rows.append(row)
    return headline_rows


def _order_names(result: Result, metrics_by_name: dict[str, analysis.Measurement]) -> Iterator[str]:
    """Yield what the run is about, then what else is known; all names where nothing is."""
    known_names = {name for name, metric in metrics_by_name.items() if metric.value is not None}
    if "speedup" in metrics_by_name:
        yield "speedup"
        yield from (name for name in metrics_by_name if name.startswith(_STEP_TIME))
    if "ttft_p50" in known_names:
        yield from (name for name in _SERVED if name in known_names)
    printed = {metric.name for metric in result.results} & known_names
    yield from (
        name for name in metrics_by_name if name.endswith("_tokens_per_second") and name in printed
    )
    less_telling = _OF_THE_SPAN if "idle_ratio" in known_names else set[str]()
    order = [name for name in _FIRST if name in metrics_by_name and name not in less_telling]
    order += [metric.name for metric in result.metrics if metric.name not in _FIRST]
    yield from [name for name in order if name in known_names] or order


def _sureness(results: dict[str, analysis.Measurement]) -> str:
    names = [name.removeprefix(_STEP_TIME) for name in results if name.startswith(_STEP_TIME)]
    lower_bound, upper_bound = results.get("speedup_low_95"), results.get("speedup_high_95")
    if lower_bound is None or upper_bound is None:
        return " over ".join(names)
    if lower_bound.value is None or upper_bound.value is None:
        interval = f"no interval: {lower_bound.reason or upper_bound.reason}"
    else:
        ends = (
            f"{quantity(lower_bound.value, lower_bound.unit)} to "
            f"{quantity(upper_bound.value, upper_bound.unit)}"
        )
        unsure = (
            "; which is faster, the run does not tell"
            if lower_bound.value <= 1 <= upper_bound.value
            else ""
        )
        interval = f"{ends} with 95 % confidence{unsure}"
    return ": ".join(filter(None, (" over ".join(names), interval)))


@dataclass(frozen=True)
class PageVerdict:
    """A sentence, what to do about it, and a tone, which is a word of the style.

    Tones are error, warning, unclear, good, and samples for a recording without GPU work.
    """

    tone: str
    lead: str
    message: str = ""


@panel("Verdict")
def verdict(result: Result, tables: Tables) -> Context:
    """Say in one sentence how the run did, and show its headlines."""
    states = Counter(check.status for check in result.checks)
    finding_count = len(result.findings)
    return {
        "verdict": _of_samples(result, tables) or verdict_of(result),
        "answer": analysis.answer_of(result),
        "numbers": headlines(result, tables),
        "tally": [
            ("findings", finding_count, "finding" if finding_count == 1 else "findings"),
            ("checks", states[analysis.Status.PASSED], "passed"),
            ("checks", states[analysis.Status.ABSTAINED], "could not be checked"),
            ("checks", states[analysis.Status.FAILED], "failed to run"),
        ],
        "crowd": analysis.explain_crowd(analysis.crowd_of(tables, result.provenance)),
        "broken": list(result.provenance.unfinished_stages.items()),
    }


def _of_samples(result: Result, tables: Tables) -> PageVerdict | None:
    """Say what a recording without GPU work holds; None for others, or where a fault was found."""
    if not is_without_gpu_work(tables) or any(
        finding.severity is not analysis.Severity.NOTE for finding in result.findings
    ):
        return None
    names = [name for name in analysis.PROFILES if not of_target(tables, name).absence]
    replayed = rows(tables, REPLAY).frame
    if len(replayed):
        number = replayed["place"].nunique()
        lead = f"Xcode's counters of {count(number)} encoders"
        return PageVerdict("samples", f"{lead}, from a serialized replay at a fixed clock.")
    if not names:
        return None
    samples = of_target(tables, names[0]).frame
    hottest = analysis.functions(samples, rows(tables, "profile_frames").frame).head(1)
    weight = analysis.sampled_weight(samples)
    hottest_words = [
        f", {percent(own_weight / weight)} of their weight in {name}"
        for own_weight, name in zip(hottest["own"], hottest["function"], strict=True)
        if weight
    ]
    lead = "The recording holds no GPU work, but samples of the target's threads:"
    return PageVerdict("samples", f"{lead} {count(len(samples))}{''.join(hottest_words)}.")


def verdict_of(result: Result) -> PageVerdict:
    """Judge a run by its first finding; without any, by how many checks could be made."""
    judged = [finding for finding in result.findings if finding.severity in _TONES]
    if not judged:
        return _without_fault(result.checks)
    first_finding = judged[0]
    line = analysis.headline(first_finding)
    if first_finding.severity is analysis.Severity.ERROR:
        line = f"Do not trust these numbers yet. {line}"
    return PageVerdict(_TONES[first_finding.severity], line, first_finding.advice)


_TONES = {analysis.Severity.ERROR: "error", analysis.Severity.WARNING: "warning"}


def _without_fault(checks: tuple[analysis.RuleCheck, ...]) -> PageVerdict:
    states = Counter(check.status for check in checks)
    open_ones = states[analysis.Status.ABSTAINED] + states[analysis.Status.FAILED]
    completed_checks = len(checks) - open_ones
    if not checks:
        return PageVerdict("unclear", "Nothing was checked, so nothing can be said.")
    if completed_checks == 0:
        lead = f"Nothing can be said: none of {_checks(open_ones)} could be made."
        return PageVerdict("unclear", lead)
    if open_ones:
        lead = f"No fault was found by {count(completed_checks)} of {_checks(len(checks))}"
        return PageVerdict("unclear", f"{lead}; {count(open_ones)} could not be made.")
    return PageVerdict(
        "good", f"No fault was found by {_checks(len(checks))}, and all could be made."
    )


def _checks(number: int) -> str:
    return f"{count(number)} check{'' if number == 1 else 's'}"
