"""How much of a page there is to read at once: heights, words, titles, folds, letters."""

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accessibility import find_violations, load_axe
from page_kinds import KINDS
from page_sizes import (
    NARROW,
    SCREEN,
    WIDE,
    Layout,
    measure_drawings,
    measure_layout,
    open_folds,
)
from tracekit import pipeline

pytestmark = pytest.mark.browser

LONGEST_TITLE = 80
SMALLEST_LETTER = 14


class Bound(NamedTuple):
    """The most that a page takes on a wide screen: screens, words, and folds that are open."""

    screens: float
    words: int
    open: int


BOUNDS = {
    "nothing found": Bound(2, 300, 0),
    "three findings": Bound(5, 1300, 4),
    "CPU profile": Bound(2, 350, 1),
    "program": Bound(1.5, 250, 0),
    "comparison": Bound(3.5, 700, 1),
    "batch": Bound(3, 700, 1),
    "trend": Bound(2.5, 650, 1),
    "runs of a folder": Bound(1, 200, 0),
    "host recording": Bound(3, 600, 3),
    "serving": Bound(4, 900, 6),
    "replay": Bound(3, 500, 2),
    "benches": Bound(2, 350, 1),
    "bench ab": Bound(1.5, 300, 1),
}


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of pytest share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "pages"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[[Path], Any]]:
    """Open a file in a window of its own, and wait until its timeline is drawn."""
    contexts: list[Any] = []

    def opener(file: Path, **options: Any) -> Any:
        size = {"width": WIDE, "height": SCREEN}
        contexts.append(browser.new_context(viewport=size, **options))
        page = contexts[-1].new_page()
        page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            drawn = "#timeline-sums tr, main:not(:has(#timeline-data))"
            page.wait_for_selector(drawn, state="attached")
        return page

    yield opener
    for context in contexts:
        context.close()


@pytest.fixture
def page_of(shared_folder: Path) -> Callable[[str], Path]:
    """Return the file of the page of a kind, which one worker makes once for all."""

    def find(kind: str) -> Path:
        file = shared_folder / f"{kind}.html"
        with (shared_folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                file.write_text(KINDS[kind](shared_folder), encoding="utf-8")
        return file

    return find


def hold_layout(page: Any) -> tuple[Layout, Layout]:
    """Measure a page on both widths, and hold what is true of every page."""
    wide, narrow = measure_layout(page, WIDE), measure_layout(page, NARROW)
    assert (wide.width, narrow.width) == (WIDE, NARROW), "nothing lies sideways"
    assert max(wide.title, narrow.title) <= LONGEST_TITLE
    assert min(wide.type, narrow.type) >= SMALLEST_LETTER
    for width in (WIDE, NARROW):
        drawings = measure_drawings(page, width)
        assert drawings.covered == [], width
        assert drawings.type is None or drawings.type >= SMALLEST_LETTER, width
        assert page.evaluate("document.documentElement.scrollWidth") == width
    return wide, narrow


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_page_keeps_to_its_size(
    kind: str, page_of: Callable[[str], Path], open_page: Callable[[Path], Any]
) -> None:
    wide, narrow = hold_layout(open_page(page_of(kind)))
    bound = BOUNDS[kind]
    assert wide.height <= bound.screens * SCREEN
    assert narrow.height <= 2 * bound.screens * SCREEN
    assert wide.words <= bound.words
    assert wide.open <= bound.open


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["gpu_baseline", "cpu_time_profiler"])
def test_a_page_of_a_real_trace_takes_six_screens(
    open_page: Callable[[Path], Any], corpus: Path, tmp_path: Path, name: str
) -> None:
    [bundle] = corpus.glob(f"*/_history_*/{name}.trace")
    [recording] = pipeline.import_([bundle], tmp_path / "run")
    pipeline.analyze(recording)
    page = open_page(pipeline.report(recording))
    wide, narrow = hold_layout(page)
    assert wide.height <= 6 * SCREEN
    assert narrow.height <= 2 * 6 * SCREEN
    assert find_violations(page, load_axe()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_no_violation_in_any_kind_of_page(
    kind: str, page_of: Callable[[str], Path], open_page: Callable[[Path], Any]
) -> None:
    axe = load_axe()
    page = open_page(page_of(kind))
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": SCREEN})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert find_violations(page, axe) == [], (width, scheme)
    open_folds(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert find_violations(page, axe) == [], (scheme, "folds open")


@pytest.mark.parametrize("kind", KINDS)
def test_paper_and_readers_without_a_script_reach_all_words(
    kind: str, page_of: Callable[[str], Path], open_page: Callable[[Path], Any]
) -> None:
    file = page_of(kind)
    page = open_page(file, java_script_enabled=False)
    summaries = page.locator("main > section > details > summary")
    for summary in summaries.all():
        fold = summary.locator("xpath=..")
        was_open = fold.get_attribute("open") is not None
        summary.focus()
        page.keyboard.press("Enter")
        assert (fold.get_attribute("open") is not None) is not was_open
        page.keyboard.press("Enter")
    page.emulate_media(media="print")
    assert page.locator("nav, .theme").first.is_hidden()
    for cell in page.locator("main table tbody tr").all()[-3:]:
        assert cell.is_visible()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "runs of a folder"])
def test_the_first_screen_has_the_verdict_and_lines_that_lead_on(
    kind: str, page_of: Callable[[str], Path], open_page: Callable[[Path], Any]
) -> None:
    page = open_page(page_of(kind))
    first = page.locator("main > section").first
    assert first.locator("p.verdict").count() >= 1
    assert first.locator("details").count() == 0
    assert first.bounding_box()["y"] < SCREEN / 4
    assert first.locator(".numbers > div").count() <= 3
    for link in first.locator(".lines a").all():
        words = link.inner_text()
        assert len(words) <= LONGEST_TITLE
        target = link.get_attribute("href")
        assert page.locator(target).count() == 1, words


def test_the_first_screen_of_a_run_begins_the_timeline(
    page_of: Callable[[str], Path], open_page: Callable[[Path], Any]
) -> None:
    page = open_page(page_of("three findings"))
    page.locator("#timeline-live").wait_for(state="visible")
    assert page.locator("#verdict .numbers > div").count() == 3
    assert page.locator("#verdict .lines a").count() > 0
    canvas = page.locator("#timeline-canvas").bounding_box()
    assert canvas["y"] < SCREEN * 3 / 4
    target = page.locator("#verdict .setting dt").all_inner_texts()
    assert target == ["Target", "Chip", "Recording", "Machine"]
