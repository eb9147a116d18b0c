"""Whatever is measured: sentence, exit code, page, JSON, JUnit, SARIF and Markdown say the same."""

import json
import math
from collections.abc import Sequence
from typing import Any

import typer
from hypothesis import given, settings
from hypothesis import strategies as some
from lxml import etree

from gate_night import make_pairs
from page_words import readable
from tracekit.analysis.result import Better
from tracekit.base.documents import encode_json
from tracekit.base.errors import TracekitError
from tracekit.base.verdicts import Verdict
from tracekit.cli import compare as compare_command
from tracekit.cli import gate as gate_command
from tracekit.comparison.compare import Comparison, overall
from tracekit.comparison.page import heading, render_comparison
from tracekit.comparison.shifts import find_interval
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change
from tracekit.nightly.gate import judge
from tracekit.nightly.gate.report import text
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import GateReport, of_comparison, of_night
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.history.night import Described, Entry, Night
from tracekit.nightly.history.pairs import plain_change
from tracekit.nightly.plan.plan import Gated
from tracekit.pages import escape_markdown

METRIC = "step_p50"
CODES = {"regression": 1, "inconclusive": 4, "ok": 0}
# In whole steps: what a ratio of two values rounds to must not decide.
around = some.integers(-800, 800).map(lambda number: number / 10_000)
spreads = some.sampled_from([0.0, 0.002, 0.01, 0.03, 0.2])
kinds = some.sampled_from([("ns", Better.LOWER), ("tokens/s", Better.HIGHER)])
SHAPE = (-1.0, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.0)


def session(middle: float, spread: float) -> list[float]:
    return [middle + spread * deviation for deviation in SHAPE]


def said_in(sentence: str, better: Better) -> Verdict:
    """Return the verdict that a sentence says, by its words alone."""
    words = sentence.lower()
    if "changed by" in words:
        return Verdict.UNCLEAR
    if "equivalent within" in words:
        return Verdict.EQUIVALENT
    more = "slower by" in words or "higher by" in words
    worse = more is (better is Better.LOWER)
    if ", beyond your limit of" in words:
        return Verdict.WORSE if worse else Verdict.BETTER
    return Verdict.SLIGHTLY_WORSE if worse else Verdict.SLIGHTLY_BETTER


def code_of(ending: Any, *arguments: object) -> int:
    try:
        ending(*arguments)
    except typer.Exit as exited:
        return exited.exit_code
    except TracekitError as error:
        return error.exit_code
    return 0


def require_agreement(report: GateReport, verdict: Verdict, better: Better) -> None:
    """Hold every form of a report with one metric against its verdict."""
    code = verdict.exit_code
    assert CODES[report.outcome] == code
    assert code_of(gate_command.end, report, []) == code
    document = json.loads(encode_json(report))
    [suite] = document["suites"]
    [case] = suite["cases"]
    assert (case["verdict"], CODES[case["outcome"]]) == (verdict, code)
    assert (CODES[document["outcome"]], CODES[suite["outcome"]]) == (code, code)
    sentence = case["message"]
    assert said_in(sentence, better) is verdict
    root = etree.fromstring(junit(report))
    tests = root.findall(".//testcase")
    case_tags = [
        (element.tag, element.get("message")) for element in tests[0] if element.tag != "system-out"
    ]
    tags = {1: "failure", 4: "skipped"}
    case_message = f"{METRIC}: {sentence}"
    assert case_tags == ([(tags[code], case_message)] if code else [])
    assert (root.get("failures"), root.get("tests")) == ("1" if code == 1 else "0", "1")
    [run] = json.loads(sarif(report, "0.1.0"))["runs"]
    results = [result["message"]["text"] for result in run["results"]]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    notices = [note["message"]["text"] for note in notes]
    suite_message = f"{report.suites[0].name}: {case_message}"
    assert results == ([suite_message] if code == 1 else [])
    assert notices == ([suite_message] if code == 4 else [])
    page = text.markdown(report)
    assert escape_markdown(sentence) in page
    marks = {0: "✅", 1: "❌", 4: "❔"}
    assert page.startswith(f"## {marks[code]} ")
    [row] = text.verdict_rows(report)
    assert row[0] == case["outcome"]
    assert row[2] == sentence


@given(around, spreads, around, spreads, some.booleans(), some.sampled_from([0.01, 0.03]), kinds)
@settings(max_examples=80)
def test_a_night_agrees_with_itself(
    first_middle: float,
    spread: float,
    second: float,
    second_spread: float,
    again: bool,
    limit: float,
    kind: tuple[str, Better],
) -> None:
    unit, better = kind
    sessions = [session(first_middle, spread), *([session(second, second_spread)] if again else [])]
    judged = judge.judge(
        Gated(METRIC, limit), make_pairs(*sessions), unit=unit, better=better.value
    )
    entry = Entry("decode", "w1", Described("paged"), None, tuple(make_pairs(*sessions)), (judged,))
    outcome, reason = judge.outcome_of(entry)
    entry = Entry(
        *("decode", "w1", Described("paged"), None, entry.pairs, (judged,), ()),
        outcome,
        reason,
    )
    final_outcome, final_reason = judge.night_outcome([entry], partial=False)
    night = Night("n1", "plan", "mini", "2026-11-01T02:30:00+00:00", entries=(entry,))
    night = Night(
        *("n1", "plan", "mini", "2026-11-01T02:30:00+00:00"),
        entries=(entry,),
        outcome=final_outcome,
        reason=final_reason,
    )
    verdict = Verdict(judged.verdict)
    require_agreement(of_night(night), verdict, better)
    assert said_in(reason, better) is verdict


@given(around, spreads, around, spreads, some.booleans(), some.sampled_from([0.01, 0.03]), kinds)
@settings(max_examples=60)
def test_a_comparison_agrees_with_itself_and_with_a_night_of_the_same_pairs(
    first_middle: float,
    spread: float,
    second: float,
    second_spread: float,
    again: bool,
    limit: float,
    kind: tuple[str, Better],
) -> None:
    unit, better = kind
    sessions = [session(first_middle, spread), *([session(second, second_spread)] if again else [])]
    compared = comparison(sessions, unit, better, Limits(threshold=limit))
    verdict = compared.verdict
    require_agreement(of_comparison(compared), verdict, better)
    assert said_in(heading(compared).partition(": ")[2], better) is verdict
    assert heading(compared).lower().startswith(verdict.words)
    assert code_of(compare_command.end, compared) == verdict.exit_code
    document = json.loads(encode_json(compared))
    assert document["verdict"] == document["changes"][0]["verdict"] == verdict
    page = readable(render_comparison(compared, [], [], redact=str))
    assert f"{verdict.words} {compared.reason}".lower() in page.lower()
    night = judge.judge(Gated(METRIC, limit), make_pairs(*sessions), unit=unit, better=better.value)
    assert night.verdict == verdict


def comparison(
    sessions: Sequence[Sequence[float]], unit: str, better: Better, limits: Limits
) -> Comparison:
    """Judge pairs as `bench ab` does."""
    changes = [change for session_changes in sessions for change in session_changes]
    interval = find_interval(changes)
    assert interval is not None
    base_change = Change(METRIC, unit, better, 100.0, 100.0, deciding=True)
    verdict, reason = base_change.judge_interval(interval, limits, sessions)
    middle, lower_bound, upper_bound = (
        plain_change(end, "ratio")
        for end in (interval.middle, interval.lower_bound, interval.upper_bound)
    )
    assert math.isfinite(middle)
    change = Change(
        *(METRIC, unit, better, 100.0, 100.0, verdict, middle, lower_bound, upper_bound),
        deciding=True,
        paired=True,
        reason=reason,
    )
    overall_verdict, overall_reason = overall([change], (), limits)
    empty: tuple[Any, ...] = ((), (), (), ())
    return Comparison(
        ("a",), ("b",), overall_verdict, overall_reason, (change,), *empty, limits=limits
    )
