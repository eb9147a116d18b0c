"""Pages in a browser: widths, colours, paper, hostile strings; the timeline, zoomed and moved."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import made_nights
from report_runs import MS, bare, host_run, paced_run, trace_run
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.fleet.batch.page import render_batch
from tracekit.fleet.batch.results import BatchRow, RowFinding
from tracekit.nightly.trend.page import render_trend
from tracekit.pages.render import render
from typed_rows import frame, frames

pytestmark = pytest.mark.browser

SIZE: Any = {"width": 1280, "height": 900}
UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}
WHOLE = (0, 658 * MS)


@dataclass
class Opened:
    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def visit(self, address: str, *, scripted: bool = True) -> None:
        self.page.goto(address)
        if scripted:
            drawn = "#timeline-sums tr, main:not(:has(#timeline-data))"
            self.page.wait_for_selector(drawn, state="attached")

    @property
    def window(self) -> tuple[float, float]:
        """The visible window in ns, as the page states it for those who cannot see it."""
        words = self.page.locator("#timeline-window").text_content()
        match = re.match(r"Showing ([-\d,.]+) (\S+) to ([-\d,.]+) (\S+):", words)
        assert match, words
        begin, unit, end, end_unit = match.groups()
        times = float(begin.replace(",", "")), float(end.replace(",", ""))
        return times[0] * UNITS[unit], times[1] * UNITS[end_unit]

    def change_window(self, act: Any) -> tuple[float, float]:
        """Do something that changes the window, wait until it says so, and return it."""
        locator = self.page.locator("#timeline-window")
        text_before = locator.text_content()
        act()
        changed = "before => document.getElementById('timeline-window').textContent !== before"
        self.page.wait_for_function(changed, arg=text_before)
        return self.window

    @property
    def outside(self) -> list[str]:
        """What was asked for elsewhere than in files and in the page itself."""
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]

    def sums(self, beginning: str) -> None:
        """Wait until the sums are those of what `beginning` begins."""
        begins = "of => document.getElementById('timeline-range').textContent.startsWith(of)"
        self.page.wait_for_function(begins, arg=beginning)

    def canvas(self) -> tuple[float, float, float, float]:
        canvas = self.page.locator("#timeline-canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        return box["x"], box["y"], box["width"], box["height"]


def opened_in(context: Any) -> Opened:
    opened = Opened(context.new_page())
    opened.page.on(
        "console", lambda message: opened.errors.append(f"{message.type}: {message.text}")
    )
    opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    return opened


def html_of(run: Any) -> str:
    return render(run.result, run.tables, redact=str)


def words(row: Any) -> list[str]:
    """Return the words of a row, cell by cell, whether it is laid out already or not."""
    return " ".join(row.locator("th, td").all_text_contents()).split()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts: list[Any] = []

    def opener(html: str, **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(viewport=SIZE, **options))
        opened = opened_in(contexts[-1])
        opened.visit(file.as_uri(), scripted=options.get("java_script_enabled", True))
        return opened

    yield opener
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def host_window(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Opened, str]]:
    """A window that all tests of the page of a host recording share, and where that page is."""
    file = tmp_path_factory.mktemp("host") / "report.html"
    file.write_text(html_of(host_run()), encoding="utf-8")
    context = browser.new_context(viewport=SIZE)
    yield opened_in(context), file.as_uri()
    context.close()


@pytest.fixture
def host_page(new_host_page: Opened) -> Opened:
    """The page of a host recording, with the whole run in view."""
    show_all = new_host_page.page.locator('[data-do="all"]').click
    assert new_host_page.change_window(show_all) == WHOLE
    return new_host_page


@pytest.fixture
def new_host_page(host_window: tuple[Opened, str]) -> Iterator[Opened]:
    opened, address = host_window
    opened.errors.clear()
    opened.requests.clear()
    opened.page.emulate_media(media="screen")
    opened.page.set_viewport_size(SIZE)
    opened.visit(address)
    yield opened
    assert (opened.errors, opened.outside) == ([], [])
    assert len([url for url in opened.requests if url.startswith("file:")]) == 1


@pytest.fixture(scope="module")
def batch() -> str:
    finding = RowFinding("bubbles", "warning", "The GPU idles 12 % of the steady window.", "", 2.5)
    rows = [
        BatchRow(
            f"s3://bucket/a/rather/long/folder/of/traces/run-{n:03d}.trace",
            *("k", "k", "", "run", "ok"),
            device="Apple M4, macOS 26.3.1",
            metrics={"gpu_busy": 1e6 * (n % 17), "tokens_per_second": 900.0 + n},
            findings=(finding,) if n % 3 else (),
        )
        for n in range(55)
    ]
    failed = ("k", "k", "", "run", "failed")
    rows += [BatchRow(f"bad-{n}", *failed, f"bad-{n} is cut.", "Export it.") for n in range(5)]
    return render_batch(rows, "out", redact=str)


@pytest.fixture(scope="module")
def trend() -> str:
    history = made_nights.history()
    options = {"missed": history.missed_nights, "now": made_nights.NOW, "redact": str, "links": str}
    return render_trend(history.series, history.nights, history.accepted, **options)


def is_dark(page: Any) -> bool:
    color = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", color)[:3]) / 3 < 60


@pytest.mark.parametrize("which", ["report", "batch", "trend"])
def test_no_width_needs_sideways_scrolling_and_the_reader_chooses_the_colours(
    open_page: Any, request: pytest.FixtureRequest, which: str
) -> None:
    opened = open_page(
        html_of(paced_run()) if which == "report" else request.getfixturevalue(which)
    )
    page = opened.page
    for width in (320, 400, 800, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
        if which == "report":
            page.locator(".sums").evaluate("fold => fold.open = true")
            overflow = "table => table.scrollWidth - table.clientWidth"
            assert page.locator(".sums .scroll").evaluate(overflow) <= (
                120 if width < 400 else 0
            ), width
    for choice, dark in (("theme-light", False), ("theme-dark", True)):
        page.locator(f"#{choice}").check()
        assert is_dark(page) is dark
    assert (opened.errors, opened.outside) == ([], [])


def test_a_reader_filters_a_batch_without_a_script(open_page: Any, batch: str) -> None:
    page = open_page(batch, java_script_enabled=False).page
    rows = page.locator("table.runs tbody tr").all()
    for choice, row_count in {"failed": 5, "found": 36, "clean": 19, "all": 60}.items():
        page.locator(f"#show-{choice}").check()
        assert sum(row.is_visible() for row in rows) == row_count, choice


def test_a_narrow_chart_begins_with_the_latest_and_paper_has_all(
    open_page: Any, trend: str
) -> None:
    page = open_page(trend).page
    page.set_viewport_size({"width": 375, "height": 900})
    mark_visibility = page.evaluate(
        """() => {
            const chart = document.querySelector("figure.large .latest");
            const outer = chart.getBoundingClientRect();
            const marks = [...chart.querySelectorAll("a")].map(a => a.getBoundingClientRect());
            const inside = box => box.left >= outer.left - 4 && box.right <= outer.right + 4;
            return [inside(marks[0]), inside(marks[36])];
        }"""
    )
    assert mark_visibility == [False, True]
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#capture-1 .values").is_visible()
    overflow_count = page.evaluate(
        """() => [...document.querySelectorAll("figure.large .latest")]
            .filter(chart => chart.scrollWidth > chart.clientWidth + 1).length"""
    )
    assert overflow_count == 0


def test_keys_stop_at_charts_and_tables_but_not_at_each_night(open_page: Any, trend: str) -> None:
    page = open_page(trend).page
    stops = []
    active = """() => document.activeElement.getAttribute('aria-label')
        || document.activeElement.textContent.trim().slice(0, 40)"""
    for _ in range(30):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(active))
    assert stops[0].startswith("Skip to the")
    chart_labels = {
        "paged: Step p50 over nights", "paged: Tokens per second over nights", "3 followed only",
        "State of each capture",
    }  # fmt: skip
    assert chart_labels <= set(stops)


def test_without_a_script_or_on_paper_all_is_there(open_page: Any, host_page: Opened) -> None:
    page = open_page(html_of(host_run()), java_script_enabled=False).page
    assert page.get_by_text("Keep two steps in flight.").is_visible()
    reason = page.get_by_text("the recording has no GPU counters.")
    assert reason.is_hidden()
    page.locator("#checks-title").click()
    assert reason.is_visible()
    assert page.locator("#timeline-still svg").count() == 7
    assert page.locator("#timeline-live").is_hidden()
    page.locator("#theme-dark").check()
    assert is_dark(page)
    host_page.page.emulate_media(media="print")
    assert host_page.page.locator("#timeline-still").is_visible()
    assert host_page.page.locator("#timeline-live").is_hidden()
    assert host_page.page.get_by_text("the recording has no GPU counters.").is_visible()


def test_damaged_data_leave_the_still_timeline_and_say_so(open_page: Any, browser: Any) -> None:
    html = re.sub(r'(id="timeline-data">)[^<]+', r"\1AAAA", html_of(host_run()))
    address = open_page(html, java_script_enabled=False).page.url
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    notice = page.locator("#timeline-trouble")
    notice.wait_for(state="visible")
    assert notice.text_content().startswith("The timeline cannot be made to move: its data are dam")
    assert page.locator("#timeline-still").is_visible()
    context.close()


def test_the_policy_stops_hostile_strings_and_inserted_code(open_page: Any) -> None:
    script = "</script><script>window.attacked=1</script>"
    attack = f"{script}<img src='//x.invalid/a.png' onerror='window.attacked=2'>"
    finding = Finding(attack, Severity.ERROR, attack, attack, (Evidence(attack, 1, 2),))
    rows = [{"start": 5, "duration": 5, "channel": attack, "label": attack, "target": True}]
    tables = {**host_run().tables, "gpu_intervals": frame("gpu_intervals", rows)}
    opened = open_page(render(host_run().having(findings=(finding,)).result, tables, redact=str))
    opened.page.locator("#timeline-search").fill("attacked")
    opened.page.locator('[data-do="next"]').click()
    tip = opened.page.locator("#timeline-tip b").inner_text()
    assert "<script>window.attacked=1</script>" in tip
    assert opened.page.evaluate("window.attacked") is None
    assert (opened.errors, opened.outside) == ([], [])
    slipped = "<script>window.attacked=1</script><img src='https://x.invalid/a.png'></main>"
    opened = open_page(html_of(host_run()).replace("</main>", slipped))
    assert opened.page.evaluate("window.attacked") is None
    assert len([error for error in opened.errors if "Content Security Policy" in error]) >= 2


def test_a_finding_leads_to_its_window_in_the_same_words(host_page: Opened) -> None:
    page = host_page.page
    link = page.locator("#findings a[data-begin]")
    begin, end = host_page.change_window(link.click)
    assert begin < 628 * MS < 641 * MS < end
    assert end - begin == pytest.approx(26 * MS, rel=0.01)
    assert page.evaluate("document.activeElement.id") == "timeline-canvas"
    host_page.sums("In view: 26 ms")
    assert words(page.locator("#timeline-sums tr").first)[2:4] == ["13", "ms"]
    assert link.inner_text().startswith("13 ms at")
    page.locator("#reproduce-title").click()
    button = page.locator("pre.command button").first
    button.click()
    condition = "button => /^(Copied|Selected)/.test(button.textContent)"
    page.wait_for_function(condition, arg=button.element_handle())


def test_intervals_are_shown_under_the_pointer_and_by_keys(host_page: Opened) -> None:
    page = host_page.page
    canvas, spoken = page.locator("#timeline-canvas"), page.locator("#timeline-spoken")
    canvas.focus()
    for _ in range(3):
        canvas.press("ArrowDown")
    assert spoken.text_content() == "Steps: 5 intervals. marked by the workload"
    canvas.press("n")
    assert spoken.text_content().startswith("warm-up. 8 ms from 0.600 000 s. until handed over: 1")
    for key, start in (("n", "0.610"), ("n", "0.620"), ("p", "0.610")):
        canvas.press(key)
        assert f"from {start} 000 s" in spoken.text_content(), (key, start)
    window = host_page.change_window(lambda: canvas.press("Enter"))
    assert window == pytest.approx((608 * MS, 620 * MS), abs=MS)
    host_page.change_window(page.locator('[data-do="steady"]').click)
    x, y, width, _ = host_page.canvas()
    page.mouse.move(x + width * 0.25, y + 60)
    tip = page.locator("#timeline-tip")
    tip.wait_for(state="visible")
    assert tip.locator("b").text_content() == "steady"
    assert "38 ms from 0.620 000 s" in tip.inner_text()
    page.mouse.move(x + 5, y + 60)
    tip.wait_for(state="hidden")


def test_a_search_counts_and_goes_from_match_to_match(host_page: Opened) -> None:
    page = host_page.page
    field, match_label = page.locator("#timeline-search"), page.locator("#timeline-matches")
    spoken = page.locator("#timeline-spoken")
    for text, number in (("no such", 0), ("DECODE", 1), ("submissions", 5), ("steady", 5)):
        field.fill(text)
        assert match_label.text_content() == f"{number} found", text
    announcements = []
    for _ in range(5):
        page.locator('[data-do="next"]').click()
        announcements.append(spoken.text_content())
    assert len(set(announcements)) == 5
    page.locator('[data-do="previous"]').click()
    assert spoken.text_content() == announcements[-2]
    for key, position in (("Enter", -1), ("Shift+Enter", -2)):
        field.press(key)
        assert spoken.text_content() == announcements[position], key
    field.press("Escape")
    assert match_label.text_content() == ""


def test_levels_and_groups_are_shown(open_page: Any) -> None:
    opened = open_page(html_of(trace_run()))
    names = opened.page.locator("#timeline-sums th").all_text_contents()
    assert names == ["GPU Blit", "GPU Compute", "Idle gaps", "Compiler", "Driver", "WindowServer"]
    assert words(opened.page.locator("#timeline-sums tr").last)[1:4] == ["2", "25", "µs"]
    opened = open_page(html_of(paced_run()))
    row = opened.page.locator("#timeline-sums tr", has_text="Occupancy")
    assert row.locator("td").all_text_contents() == ["60", "30.0 % to 50.0 %", ""]
    opened.page.locator("#timeline-search").fill("GPU Compute")
    opened.page.locator('[data-do="next"]').click()
    assert "command buffer: no. 1" in opened.page.locator("#timeline-spoken").text_content()
    assert opened.errors == []


def test_the_steady_window_is_in_view_at_first(new_host_page: Opened) -> None:
    assert new_host_page.window == pytest.approx((619 * MS, 658 * MS), abs=MS)
    assert new_host_page.page.locator("#timeline-sums").is_hidden()


def test_the_whole_run_has_its_sums(host_page: Opened) -> None:
    host_page.sums("In view: 658 ms")
    assert host_page.page.locator("#timeline-still").is_hidden()
    rows = host_page.page.locator("#timeline-sums tr")
    assert words(rows.nth(0)) == ["Evidence", "1", "13", "ms", "2.0", "%"]
    assert words(rows.nth(4)) == ["CPU", "5", "35", "ms", "5.3", "%"]


def test_the_wheel_zooms_around_the_pointer_and_at_full_width_scrolls_on(host_page: Opened) -> None:
    page = host_page.page
    page.evaluate(
        """() => {
            const options = {deltaY: -300, bubbles: true, cancelable: true};
            const wheel = () => new WheelEvent("wheel", options);
            document.body.dispatchEvent(wheel());
            document.getElementById("timeline-canvas").dispatchEvent(wheel());
        }"""
    )
    page.wait_for_timeout(1000)  # the page forgets a scroll after a pause
    assert host_page.window == WHOLE, "a scroll that began elsewhere does not zoom"
    x, y, width, _ = host_page.canvas()
    page.mouse.move(x + width * 0.75, y + 60)
    begin, end = host_page.change_window(lambda: page.mouse.wheel(0, -400))
    assert 0 < begin < end < 658 * MS
    assert end - begin < 658 * MS / 2
    later = host_page.change_window(lambda: page.mouse.wheel(200, 0))
    assert later[0] > begin
    assert later[1] - later[0] == pytest.approx(end - begin, rel=0.01)
    canvas = page.locator("#timeline-canvas")
    assert host_page.change_window(lambda: canvas.press("Home")) == WHOLE
    scroll_before = page.evaluate("scrollY")
    page.mouse.wheel(0, 300)
    page.wait_for_function("before => scrollY > before", arg=scroll_before)
    assert host_page.window == WHOLE


def test_keys_zoom_move_and_reset(host_page: Opened) -> None:
    canvas = host_page.page.locator("#timeline-canvas")
    canvas.focus()
    begin, end = host_page.change_window(lambda: canvas.press("+"))
    assert end - begin == pytest.approx(329 * MS, rel=0.01)
    later = host_page.change_window(lambda: canvas.press("ArrowRight"))
    assert later[0] > begin
    earlier_window = host_page.change_window(lambda: canvas.press("ArrowLeft"))
    assert earlier_window[0] == pytest.approx(begin, abs=MS)
    steady = host_page.change_window(lambda: canvas.press("s"))
    assert steady[0] == pytest.approx(620 * MS, abs=2 * MS)
    assert steady[1] == pytest.approx(658 * MS, abs=2 * MS)
    assert host_page.change_window(lambda: canvas.press("0")) == WHOLE
    for _ in range(24):
        canvas.press("+")
    host_page.sums("In view: 100 ns")


def test_buttons_equal_the_keys(host_page: Opened) -> None:
    def press_button(name: str) -> tuple[float, float]:
        return host_page.change_window(host_page.page.locator(f'[data-do="{name}"]').click)

    begin, end = press_button("in")
    assert end - begin == pytest.approx(329 * MS, rel=0.01)
    assert press_button("left")[0] < begin
    assert press_button("right")[0] == pytest.approx(begin, abs=MS)
    assert press_button("out") == WHOLE
    assert press_button("steady")[0] > 600 * MS
    assert press_button("all") == WHOLE


def test_dragging_moves_and_shift_drag_selects(host_page: Opened) -> None:
    page = host_page.page
    canvas = page.locator("#timeline-canvas")
    canvas.focus()
    begin, _ = host_page.change_window(lambda: canvas.press("+"))
    x, y, _, _ = host_page.canvas()

    def drag(to: float) -> None:
        page.mouse.move(x + 700, y + 60)
        page.mouse.down()
        page.mouse.move(x + to, y + 60, steps=4)
        page.mouse.up()

    assert host_page.change_window(lambda: drag(600))[0] > begin
    page.keyboard.down("Shift")
    drag(900)
    page.keyboard.up("Shift")
    host_page.sums("Selected")
    canvas.press("Escape")
    host_page.sums("In view")


def test_a_double_click_fills_the_view_with_an_interval(host_page: Opened) -> None:
    x, y, width, _ = host_page.canvas()
    begin, end = host_page.change_window(
        lambda: host_page.page.mouse.dblclick(x + width - 9, y + 60)
    )
    assert (begin, end) == pytest.approx((601 * MS, 658 * MS), abs=2 * MS)


def test_two_fingers_zoom(host_page: Opened) -> None:
    _, _, width, _ = host_page.canvas()

    def pinch() -> None:
        host_page.page.evaluate(
            """([near, far, spread]) => {
                const canvas = document.getElementById("timeline-canvas");
                canvas.setPointerCapture = () => {};
                const box = canvas.getBoundingClientRect();
                const touch = (name, pointerId, at) => canvas.dispatchEvent(new PointerEvent(name, {
                    pointerId, clientX: box.x + at, clientY: box.y + 60, bubbles: true,
                }));
                touch("pointerdown", 7, near);
                touch("pointerdown", 8, far);
                touch("pointermove", 8, far + spread);
                touch("pointerup", 7, near);
                touch("pointerup", 8, far + spread);
            }""",
            [width * 0.4, width * 0.5, width * 0.1],
        )

    begin, end = host_page.change_window(pinch)
    assert end - begin == pytest.approx(329 * MS, rel=0.02)


def test_a_long_interval_is_drawn_though_short_ones_begin_in_its_pixel(open_page: Any) -> None:
    common_cells = {"channel": "Compute", "label": "k", "target": True, "clock": "gpu"}
    rows = [
        {"start": start, "duration": length, **common_cells}
        for start, length in ((0, 10), (50, 10), (100, 400_000), (900_000, 100_000))
    ]
    html = render(bare().result, frames(gpu_intervals=rows), redact=str)
    opened = open_page(html)
    colours = opened.page.evaluate(
        """shares => {
            const canvas = document.getElementById("timeline-canvas");
            const wide = canvas.clientWidth - 190;
            const pen = canvas.getContext("2d");
            const across = shares.map((share) => (190 + wide * share) * devicePixelRatio);
            return across.map((x) => pen.getImageData(x, 30 * devicePixelRatio, 1, 1).data.join());
        }""",
        (0.2, 0.6, 0.95),
    )
    assert colours[0] == colours[2] != colours[1]
