"""The verdict: one sentence, and the few numbers that matter."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.panel import (
    DISPATCHES,
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
from tracekit.pages.setting import describe_setting
from tracekit.tables import Severity

MOST_NUMBERS = 3
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
_OF_THE_SPAN = {"gpu_idle_ratio", "host_idle_ratio"}  # warm-up included, unlike in findings
_STEP_TIME = "step_time_"
_WORST = {"ttft_p50": "ttft_p99", "tpot_p50": "tpot_p99"}


def headlines(result: Result, tables: Tables) -> list[Context]:
    """Return the numbers that a reader came for, at most `MOST_NUMBERS`.

    A comparison has its speed-up first, known or not, and then the step time of each variant; a
    server has its latencies, a program the tokens/s that it printed.
    """
    all_metrics = (*result.metrics, *result.results)
    metrics_by_name = {metric.name: metric for metric in all_metrics}
    names = dict.fromkeys(_order_names(result, metrics_by_name))
    shown_names = [*names][:MOST_NUMBERS]
    return [_headline(name, result, metrics_by_name, tables) for name in shown_names]


def _headline(
    name: str, result: Result, metrics_by_name: dict[str, analysis.Measurement], tables: Tables
) -> Context:
    metric = metrics_by_name[name]
    if metric.value is None:
        return {
            "name": name,
            "known": False,
            "note": "",
            "value": "not available",
            "source": units.unavailable(metric.reason),
        }
    is_reported = metric in result.results
    note = _headline_note(name, result, metrics_by_name)
    value = units.quantity(metric.value, metric.unit)
    source = REPORTED if is_reported else of_metric(tables, name)
    return {
        "name": name,
        "known": True,
        "note": note,
        "value": value,
        "source": source,
    }


def _headline_note(
    name: str, result: Result, metrics_by_name: dict[str, analysis.Measurement]
) -> str:
    """Return how sure a speed-up is, or the worst case of a latency; empty for others."""
    if name == "speedup":
        return _sureness({measurement.name: measurement for measurement in result.results})
    worst = metrics_by_name.get(_WORST.get(name, ""))
    if worst is None or worst.value is None:
        return ""
    return f"99th percentile {units.quantity(worst.value, worst.unit)}"


def _order_names(result: Result, metrics_by_name: dict[str, analysis.Measurement]) -> Iterator[str]:
    """Yield the subject of the run, then the other known metrics; all names if none is known."""
    known_names = {name for name, metric in metrics_by_name.items() if metric.value is not None}
    if "speedup" in metrics_by_name:
        yield "speedup"
        yield from (name for name in metrics_by_name if name.startswith(_STEP_TIME))
    if "ttft_p50" in known_names:
        yield from (name for name in _SERVED if name in known_names)
    printed_names = known_names & {metric.name for metric in result.results}
    for name in metrics_by_name:
        if name in printed_names and name.endswith("_tokens_per_second"):
            yield name
    yield from _order_metrics(result, metrics_by_name, known_names)


def _order_metrics(
    result: Result, metrics_by_name: dict[str, analysis.Measurement], known_names: set[str]
) -> list[str]:
    """Return the known metrics, the most telling first; all of them if none is known."""
    order = [name for name in _FIRST if name in metrics_by_name]
    if "idle_ratio" in known_names:
        order = [name for name in order if name not in _OF_THE_SPAN]
    order += [metric.name for metric in result.metrics if metric.name not in _FIRST]
    known_order = [name for name in order if name in known_names]
    return known_order or order


def _sureness(results: dict[str, analysis.Measurement]) -> str:
    """Return the variants of a comparison, and the interval of its speed-up if there is one."""
    variants = [name.removeprefix(_STEP_TIME) for name in results if name.startswith(_STEP_TIME)]
    words = [" over ".join(variants)]
    lower_bound = results.get("speedup_low_95")
    upper_bound = results.get("speedup_high_95")
    if lower_bound is not None and upper_bound is not None:
        words.append(_interval_words(lower_bound, upper_bound))
    return ": ".join(filter(None, words))


def _interval_words(lower_bound: analysis.Measurement, upper_bound: analysis.Measurement) -> str:
    if lower_bound.value is None or upper_bound.value is None:
        return f"no interval: {lower_bound.reason or upper_bound.reason}"
    lower_end = units.quantity(lower_bound.value, lower_bound.unit)
    upper_end = units.quantity(upper_bound.value, upper_bound.unit)
    interval = f"{lower_end} to {upper_end} with 95 % confidence"
    if lower_bound.value <= 1 <= upper_bound.value:
        return f"{interval}; which is faster, the run does not tell"
    return interval


SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.NOTE: "●"}


@dataclass(frozen=True)
class PageVerdict:
    """A sentence, a piece of advice for lists of runs, and a tone, which is a word of the style.

    Tones are error, warning, note, unclear if nothing was judged, partly if some checks could not
    judge, good, capture for a GPU frame capture, replay for the counters of one, limited if a fault
    was found by these, and samples for another recording without timed GPU work.
    """

    tone: str
    lead: str
    message: str = ""


@panel("Verdict")
def verdict(result: Result, tables: Tables) -> Context:
    """Sum the run up: its verdict, its setting, its headlines, and a line for each finding."""
    crowd = analysis.crowd.crowd_of(tables, result.provenance)
    answer = analysis.answer_of(result)
    broken = list(result.provenance.unfinished_stages.items())
    return {
        "verdict": _of_samples(result, tables) or verdict_of(result),
        "answer": answer,
        "numbers": count_answers(tables) or headlines(result, tables),
        "setting": describe_setting(result, tables),
        "lines": list(_list_lines(result)),
        "signs": SIGNS,
        "summary": result.summarize_checks(),
        "crowd": analysis.crowd.explain_crowd(crowd),
        "broken": broken,
    }


def count_answers(tables: Tables) -> list[Context]:
    """Return the numbers of a GPU frame capture's check; empty without a capture."""
    if rows(tables, DISPATCHES).absence:
        return []
    captured: tuple[analysis.dispatches.RecordedDispatch, ...] = tables["captured"]
    states: Counter[analysis.dispatches.AnswerState] = Counter()
    for dispatch in captured:
        states.update(answer.state for answer in analysis.dispatches.check_dispatch(dispatch))
    numbers = {
        "dispatches": len(captured),
        "answers_not_as_expected": states[analysis.dispatches.AnswerState.DEVIATING],
        "answers_as_expected": states[analysis.dispatches.AnswerState.AS_EXPECTED],
    }
    return [
        {
            "name": name,
            "known": True,
            "note": "",
            "value": units.count(number),
            "source": "read from the capture's own bytes",
        }
        for name, number in numbers.items()
    ]


def _list_lines(result: Result) -> Iterator[tuple[Severity, str]]:
    for finding in result.findings:
        yield finding.severity, analysis.wording.line_of(finding, finding.cost)


def _of_samples(result: Result, tables: Tables) -> PageVerdict | None:
    """Sum up a recording without GPU work; None for others, or if a fault was found."""
    if not is_without_gpu_work(tables):
        return None
    if any(finding.severity is not Severity.NOTE for finding in result.findings):
        return _of_limited_replay(result, tables)
    captured = rows(tables, DISPATCHES).frame
    if len(captured):
        return PageVerdict("capture", _describe_capture(captured))
    replayed = rows(tables, REPLAY).frame
    if len(replayed):
        number = analysis.wording.pluralize(replayed["place"].nunique(), "encoder")
        lead = f"Xcode's counters of {number}, from a serialized replay at a fixed clock"
        return PageVerdict("replay", f"{lead}; no check found a limit.")
    for name in analysis.profile.PROFILES:
        sample_rows = of_target(tables, name)
        if not sample_rows.absence:
            return _of_profile(sample_rows.frame, rows(tables, "profile_frames").frame)
    return None


def _of_limited_replay(result: Result, tables: Tables) -> PageVerdict | None:
    """Sum up the counters of a replay by the first warning; None if an error comes before it."""
    judged = verdict_of(result)
    if judged.tone != "warning" or rows(tables, REPLAY).absence:
        return None
    lead = judged.lead.rstrip(".")
    return PageVerdict(
        "limited", f"{lead}, in a serialized replay at a fixed clock.", judged.message
    )


def _describe_capture(captured: pd.DataFrame) -> str:
    dispatch_count = analysis.wording.pluralize(len(captured), "dispatch", "dispatches")
    kernel_count = analysis.wording.pluralize(captured["function"].nunique(), "kernel")
    return f"{dispatch_count} of {kernel_count}, without times; no check found a fault."


def _of_profile(samples: pd.DataFrame, frames: pd.DataFrame) -> PageVerdict:
    """Count the samples of a profile, and name the function with the most weight of its own."""
    words = units.count(len(samples))
    weight = analysis.profile.sampled_weight(samples)
    hottest = analysis.profile.functions(samples, frames).head(1)
    if weight and len(hottest):
        row = hottest.iloc[0]
        share = units.percent(row["own"] / weight)
        words = f"{words}, {share} of their weight in {row['function']}"
    lead = "The recording holds no GPU work, but samples of the target's threads:"
    return PageVerdict("samples", f"{lead} {words}.")


def verdict_of(result: Result) -> PageVerdict:
    """Judge a run by its first finding; without any, by the number of checks that passed."""
    judged = [finding for finding in result.findings if finding.severity in _TONES]
    if not judged and result.findings:
        return PageVerdict("note", analysis.wording.line_of(result.findings[0], longest=None))
    if not judged:
        return _without_fault(result)
    first_finding = judged[0]
    line = analysis.wording.line_of(first_finding, longest=None)
    if first_finding.severity is Severity.ERROR:
        line = f"Do not trust these numbers yet. {line}"
    return PageVerdict(_TONES[first_finding.severity], line, first_finding.advice)


_TONES = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def _without_fault(result: Result) -> PageVerdict:
    states = Counter(check.status for check in result.checks)
    open_checks = states[analysis.Status.ABSTAINED] + states[analysis.Status.FAILED]
    summary = result.summarize_checks()
    if not states[analysis.Status.PASSED] + states[analysis.Status.FOUND]:
        return PageVerdict("unclear", summary)
    if open_checks:
        return PageVerdict("partly", summary)
    return PageVerdict("good", summary)
