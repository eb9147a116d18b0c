"""The page of a comparison: everything on it, nothing loaded, the same every time."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from page_words import readable
from step_samples import MS, sample_of, tables_of
from tracekit.analysis.result import Better, Measurement, RuleCheck, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base import Verdict
from tracekit.comparison import page as words
from tracekit.comparison.compare import compare
from tracekit.comparison.page import WIDTH, bar, reach, render_comparison
from tracekit.comparison.samples import Sample
from tracekit.comparison.verdicts import Change

Sides = tuple[list[Sample], list[Sample]]
CHANGE = Change("step_p50", "ns", Better.LOWER, 1.0, 1.1)
HOSTILE = "</script><b>x</b>"


@pytest.fixture(scope="module")
def sides() -> Sides:
    idle = Finding("bubbles", Severity.WARNING, "It was idle.", "Submit ahead.", saving=MS)
    evident_finding = replace(idle, evidence=(Evidence("steps", 0, MS),), saving=3 * MS)
    sample_after = sample_of(
        [2 * MS] * 40,
        "tuesday",
        findings=[evident_finding],
        checks=[RuleCheck("bubbles", Status.FOUND)],
        tables=tables_of([2 * MS] * 40, begin=5 * MS),
        parameters={"slow": HOSTILE},
    )
    return [sample_of([MS] * 40, "monday", findings=[idle])], [sample_after]


def page_of(sides: Sides, redact: Callable[[str], str] = str) -> str:
    return render_comparison(compare(*sides), *sides, redact=redact)


def test_the_page_and_its_tables_say_it_all(sides: Sides, golden: Callable[..., None]) -> None:
    page = page_of(sides)
    listed = [f"{table}\n" for table in words.tables(compare(*sides))]
    golden("page.txt", f"{readable(page)}\n\n{''.join(listed)}")
    for name in ("verdict", "metrics", "findings", "timeline", "work", "environment"):
        assert f'href="#{name}"' in page


def test_nothing_is_loaded_and_no_word_becomes_markup(sides: Sides) -> None:
    page = page_of(sides)
    assert "default-src 'none'" in page
    assert HOSTILE not in page
    assert "&lt;/script&gt;&lt;b&gt;x&lt;/b&gt;" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    hidden = page_of(sides, redact=lambda text: text.replace("tuesday", "<day>"))
    assert "tuesday" not in hidden
    assert "&lt;day&gt;" in hidden


def test_runs_without_tables_and_unlike_ones_have_a_page_too() -> None:
    tableless_sample = replace(sample_of([MS] * 40, "gone"), tables=None, absence="they are gone.")
    page = page_of(([tableless_sample], [tableless_sample]))
    assert "its spread is not known" not in page, "equal values need no spread"
    assert "no run has intervals of its target" in page
    assert "The runs record no difference" in page
    paged, sdpa = ([sample_of([MS] * 40, workload=name)] for name in ("paged", "sdpa"))
    unlike = page_of((paged, sdpa))
    assert "These are unlike runs: workload is paged before and sdpa after." in unlike


def test_an_interval_is_drawn_to_scale() -> None:
    step = replace(CHANGE, change=0.1, low=-0.02, high=0.15)
    assert reach([step, replace(step, change=5.0, relative=False)]) == 0.2
    assert (reach([]), reach([replace(step, change=-0.8)])) == (0.15, 1.0)
    assert bar(step, 0.2) == (0.45 * WIDTH, 0.875 * WIDTH, 0.75 * WIDTH)
    assert bar(step, 0.05) == (0.3 * WIDTH, WIDTH, WIDTH), "what lies beyond the edge is cut"
    for change in (replace(step, relative=False), replace(step, low=None), CHANGE):
        assert bar(change, 0.2) is None


def test_findings_and_work_by_label_are_shown_for_each_side() -> None:
    def runs(*labels: str) -> list[Sample]:
        work = tables_of([MS] * len(labels))["gpu_intervals"].assign(label=labels)
        return [sample_of([MS] * 40, tables={"gpu_intervals": work})]

    samples_before, samples_after = runs(*"aab"), runs(*"abc")
    idle = Finding("bubbles", Severity.NOTE, "Idle.", "")
    samples_before += [replace(sample_of([MS] * 40, findings=[idle]), tables=None)]
    tables_by_title = {
        title: rows for title, _, rows in words.tables(compare(samples_before, samples_after))
    }
    assert tables_by_title["work by label, p50"] == [
        ("a", "2 → 1", "1 ms", "1 ms", "0.0 %"),
        ("c", "0 → 1", "—", "1 ms", "new"),
        ("b", "1", "1 ms", "1 ms", "0.0 %"),
    ]
    assert "2 more labels" in page_of((samples_before, runs(*"cdefghijklmnopqrstuv")))
    unknown = "unknown: the rule was not among those that judged"
    assert tables_by_title["findings"] == [("bubbles", unknown, "in 1 of 2", "not found")]
    assert words.ruling(replace(CHANGE, verdict=Verdict.WORSE)) == "worse"


def test_a_change_is_measured_or_at_equal_pace_both() -> None:
    plain_change = replace(CHANGE, measured=0.06, change=0.05, low=0.04, high=0.08)
    for changed_fields, expected in (
        ({}, "+6.0 % [+4.0 % … +8.0 %]"),
        ({"corrected": True}, "+5.0 % [+4.0 % … +8.0 %] at equal pace, measured +6.0 %"),
        ({"paired": True, "low": None}, "+5.0 % at equal pace, measured +6.0 %"),
        ({"change": None}, "—"),
    ):
        assert words.change_words(replace(plain_change, **changed_fields)) == expected


def test_words_keep_units_signs_and_reasons() -> None:
    def idle(share: float) -> list[Sample]:
        run = sample_of([MS] * 40)
        metric = Measurement("gpu_idle_ratio", share, "ratio", Better.LOWER)
        return [replace(run, tables=None, result=replace(run.result, metrics=(metric,)))]

    compared = compare(idle(0.1), idle(0.35))
    (row,) = next(words.tables(compared))[2]
    assert row[:5] == ("gpu_idle_ratio *", "10.0 %", "35.0 %", "+25.0 points", words.NOTHING)
    assert row[5].startswith("unclear: its spread is not known")
    assert words.heading(compared).startswith("Unclear: gpu_idle_ratio has changed by +25")
    assert (words.side(["one"]), words.side(["one", "two", "three"])) == ("one", "3 runs (one …)")


def test_the_bound_of_a_slower_side_is_on_its_page(sides: Sides) -> None:
    compared = replace(compare(*sides), bound="Memory bound: of 1 ms more a step, all is work.")
    page = render_comparison(compared, *sides, redact=str)
    assert "Memory bound: of 1 ms more a step, all is work." in readable(page)
