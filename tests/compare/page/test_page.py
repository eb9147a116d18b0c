"""The page of a comparison: everything on it, nothing loaded, the same every time."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.result import Check, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.compare import page as words
from tracekit.compare.compare import compare
from tracekit.compare.page import WIDTH, bar, both, reach, render_comparison

MS = 1_000_000
HOSTILE = "</script><b>x</b>"


@pytest.fixture(scope="module")
def made() -> Any:
    """The runs of tests/compare, which are made of step times."""
    file = Path(__file__).parents[1] / "conftest.py"
    spec = importlib.util.spec_from_file_location("made_runs", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sides(made: Any) -> tuple[list[Any], list[Any]]:
    idle = Finding("bubbles", Severity.WARNING, "It was idle.", "Submit ahead.", saving=MS)
    seen = Finding(
        "bubbles", Severity.WARNING, "Idle.", "Submit.", (Evidence("steps", 0, MS),), 3 * MS
    )
    before = made.make_sample([MS] * 40, "monday", findings=[idle])
    tables = made.tables_of([2 * MS] * 40, begin=5 * MS)
    after = made.make_sample(
        [2 * MS] * 40,
        "tuesday",
        findings=[seen],
        checks=[Check("bubbles", Status.FOUND)],
        tables=tables,
        parameters={"slow": HOSTILE},
    )
    return [before], [after]


def page_of(sides: tuple[list[Any], list[Any]], redact: Callable[[str], str] = str) -> str:
    return render_comparison(compare(*sides), *sides, redact=redact)


def test_the_page_says_it_all(sides: tuple[list[Any], list[Any]]) -> None:
    page = page_of(sides)
    for text in ("monday", "tuesday", "✕ Worse", "+100.0 %", "grew", "parameter slow", "2 ms"):
        assert text in page
    for name in ("verdict", "metrics", "findings", "timeline", "work", "environment"):
        assert f'<section id="{name}"' in page
        assert f'href="#{name}"' in page


def test_nothing_is_loaded_and_no_word_becomes_markup(
    sides: tuple[list[Any], list[Any]],
) -> None:
    page = page_of(sides)
    assert "default-src 'none'" in page
    assert HOSTILE not in page
    assert "&lt;/script&gt;&lt;b&gt;x&lt;/b&gt;" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)


def test_every_word_is_redacted(sides: tuple[list[Any], list[Any]]) -> None:
    page = page_of(sides, redact=lambda text: text.replace("tuesday", "<day>"))
    assert "tuesday" not in page
    assert "&lt;day&gt;" in page


def test_both_steady_windows_begin_at_the_same_place(sides: tuple[list[Any], list[Any]]) -> None:
    line = both(sides[0][0], sides[1][0])
    tracks = {one.name: one for one in line.tracks}
    assert {"before: Steps", "after: Steps", "before: Phases", "after: CPU"} <= set(tracks)
    assert tracks["before: Steps"].starts[0] == tracks["after: Steps"].starts[0] == 0
    assert tracks["after: Evidence"].starts[0] == -5 * MS, "evidence moves with its run"
    assert line.begin <= -5 * MS
    assert line.end == 80 * MS
    names = [one.name for one in line.tracks]
    first_after = next(place for place, name in enumerate(names) if name.startswith("after"))
    assert all(name.startswith("after") for name in names[first_after:])
    assert any(absence.startswith("After: No ") for absence in line.absences)


def test_runs_without_tables_have_a_page_too(made: Any) -> None:
    bare = made.Sample("gone", made.make_sample([MS] * 40).result, absence="they are gone.")
    page = page_of(([bare], [bare]))
    assert "its spread is not known" not in page, "equal values need no spread"
    assert "no run has intervals of its target" in page
    assert "Nothing that the runs tell of" in page


def test_unlike_runs_are_marked_on_the_page(made: Any) -> None:
    one, other = (made.make_sample([MS] * 40, workload=name) for name in ("paged", "sdpa"))
    page = page_of(([one], [other]))
    assert "These are unlike runs: workload is paged before and sdpa after." in page


def test_an_interval_is_drawn_to_scale(made: Any) -> None:
    compared = compare([made.make_sample([MS] * 40)], [made.make_sample([MS * 11 // 10] * 40)])
    step = next(one for one in compared.changes if one.metric == "step_p50")
    edge = reach(compared.changes)
    drawn = bar(step, edge, "words")
    assert drawn is not None
    assert 0 <= drawn.low < drawn.middle < drawn.high <= WIDTH
    assert drawn.none == WIDTH / 2
    assert drawn.middle == pytest.approx((1 + 0.1 / edge) * WIDTH / 2, abs=0.1)
    narrow = bar(step, 0.05, "words")
    assert narrow is not None
    assert narrow.high == WIDTH, "what lies beyond the edge is cut"


def test_words_keep_units_signs_and_reasons(made: Any) -> None:
    idle = made.Measurement("gpu_idle_ratio", 0.1, "ratio", made.Better.LOWER)
    run = made.make_sample([MS] * 40)
    more = made.Measurement("gpu_idle_ratio", 0.35, "ratio", made.Better.LOWER)
    sides = [
        made.Sample("a", type(run.result)(run.result.provenance, (one,))) for one in (idle, more)
    ]
    compared = compare([sides[0]], [sides[1]])
    (row,) = next(words.tables(compared))[2]
    assert row[:5] == ("gpu_idle_ratio *", "10.0 %", "35.0 %", "+25.0 points", words.NOTHING)
    assert row[5].startswith("unclear: its spread is not known")
    assert words.heading(compared).startswith("Unclear: gpu_idle_ratio is unclear")


def test_several_runs_are_named_by_the_first() -> None:
    assert words.side(["one"]) == "one"
    assert words.side(["one", "two", "three"]) == "3 runs (one …)"
