"""How much of a page there is to read at once: heights, words, titles, folds, letters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labelled.corpus import Trace
from labelled.folder import write
from labelled.program import simulate
from page_sizes import NARROW, SCREEN, WIDE, Layout, measure_files
from report_runs import host_run, paced_run, profiled_run, replayed_run, served_run, trace_run
from tracekit import pipeline
from tracekit.report.render import render

pytestmark = pytest.mark.browser

LONGEST_TITLE = 80
SMALLEST_LETTER = 14

Measure = Callable[[str], tuple[Layout, Layout]]


@pytest.fixture
def measure(browser: Any, tmp_path: Path) -> Measure:
    """Lay a page out on both widths, and hold what is true of every page."""

    def measure_page(html: str) -> tuple[Layout, Layout]:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        [(_, wide, narrow)] = measure_files(browser, [file])
        assert (wide.width, narrow.width) == (WIDE, NARROW), "nothing lies sideways"
        assert wide.title <= LONGEST_TITLE
        assert min(wide.type, narrow.type) >= SMALLEST_LETTER
        return wide, narrow

    return measure_page


def made_page(folder: Path, trace: Trace) -> tuple[str, int]:
    """Judge a made trace; return its page and the number of its findings."""
    recording = write(simulate(trace.setup()), folder)
    result = pipeline.analyze(recording)
    return pipeline.report(recording).read_text("utf-8"), len(result.findings)


def test_a_page_without_a_finding_takes_two_screens(measure: Measure, tmp_path: Path) -> None:
    html, finding_count = made_page(tmp_path / "run", Trace(2))
    assert finding_count == 0
    wide, narrow = measure(html)
    assert wide.height <= 2 * SCREEN
    assert narrow.height <= 2 * 2 * SCREEN
    assert wide.words <= 300
    assert wide.open == 0


def test_a_page_with_three_findings_takes_five_screens(measure: Measure, tmp_path: Path) -> None:
    faults = ("pipeline-churn", "late-start", "memory-growth")
    html, finding_count = made_page(tmp_path / "run", Trace(4, faults))
    assert finding_count == 3
    wide, narrow = measure(html)
    assert wide.height <= 5 * SCREEN
    assert narrow.height <= 2 * 5 * SCREEN
    assert wide.words <= 1300


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["gpu_baseline", "cpu_time_profiler"])
def test_a_page_of_a_real_trace_takes_six_screens(
    measure: Measure, corpus: Path, tmp_path: Path, name: str
) -> None:
    [bundle] = corpus.glob(f"*/_history_*/{name}.trace")
    [recording] = pipeline.import_([bundle], tmp_path / "run")
    pipeline.analyze(recording)
    wide, narrow = measure(pipeline.report(recording).read_text("utf-8"))
    assert wide.height <= 6 * SCREEN
    assert narrow.height <= 2 * 6 * SCREEN


@pytest.mark.parametrize(
    "run", [host_run, trace_run, paced_run, served_run, profiled_run, replayed_run]
)
def test_every_kind_of_run_fits_its_titles_and_letters(measure: Measure, run: Any) -> None:
    made_run = run()
    wide, narrow = measure(render(made_run.result, made_run.tables, redact=str))
    assert wide.height <= 6 * SCREEN
    assert narrow.height <= 2 * 6 * SCREEN


def test_the_first_screen_has_the_verdict_and_begins_the_timeline(
    browser: Any, tmp_path: Path
) -> None:
    html, _ = made_page(tmp_path / "run", Trace(4, ("pipeline-churn", "memory-growth")))
    file = tmp_path / "page.html"
    file.write_text(html, encoding="utf-8")
    context = browser.new_context(viewport={"width": WIDE, "height": SCREEN})
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator("#timeline-live").wait_for(state="visible")
    assert page.locator("#verdict details").count() == 0
    assert page.locator("#verdict .numbers > div").count() == 3
    lines = page.locator("#verdict .lines a").all_inner_texts()
    assert lines
    assert max(map(len, lines)) <= LONGEST_TITLE
    canvas = page.locator("#timeline-canvas").bounding_box()
    assert canvas["y"] < SCREEN * 3 / 4
    target = page.locator("#verdict .setting dt").all_inner_texts()
    assert target == ["Target", "Chip", "Recording", "Machine"]
    context.close()
