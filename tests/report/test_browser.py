"""The page in a browser: what a reader does, and that nothing leaves the page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.finding import Evidence, Finding, Severity
from tracekit.report import render

pytestmark = pytest.mark.browser

UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}
MS = 10**6


@dataclass
class Opened:
    """A page in the browser, and all that it said and asked for."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def window(self) -> tuple[float, float]:
        """The visible window in ns, as the page states it for those who cannot see it."""
        words = self.page.locator("#timeline-window").text_content()
        found = re.match(r"Showing ([-\d,.]+) (\S+) to ([-\d,.]+) (\S+):", words)
        assert found, words
        begin, unit, end, last = found.groups()
        return (
            float(begin.replace(",", "")) * UNITS[unit],
            float(end.replace(",", "")) * UNITS[last],
        )

    def settled(self, act: Any) -> tuple[float, float]:
        """Do something that changes the window, wait until it says so, and return it."""
        said = self.page.locator("#timeline-window")
        before = said.text_content()
        act()
        self.page.wait_for_function(
            "before => document.getElementById('timeline-window').textContent !== before",
            arg=before,
        )
        self.page.wait_for_timeout(200)
        return self.window

    def canvas(self) -> tuple[float, float, float, float]:
        """Where the canvas is: x, y, width, height."""
        canvas = self.page.locator("#timeline-canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        return box["x"], box["y"], box["width"], box["height"]


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts: list[Any] = []

    def opener(html: str, **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda said: opened.errors.append(f"{said.type}: {said.text}"))
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            opened.page.wait_for_selector(
                "#timeline-sums tr, main:not(:has(#timeline-data))", state="attached"
            )
        return opened

    yield opener
    for context in contexts:
        context.close()


def html_of(run: Any) -> str:
    return render(run.result, run.tables, redact=str)


@pytest.fixture
def host_page(open_page: Any, host_run: Any) -> Iterator[Opened]:
    opened = open_page(html_of(host_run))
    yield opened
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in opened.requests if url.startswith("file:")]) == 1


def words(row: Any) -> list[str]:
    """The words of a row, cell by cell, whether it is laid out already or not."""
    return " ".join(row.locator("th, td").all_text_contents()).split()


def test_the_whole_run_is_in_view_at_first(host_page: Opened) -> None:
    assert host_page.window == (0, 658 * MS)
    assert host_page.page.locator("#timeline-still").is_hidden()
    rows = host_page.page.locator("#timeline-sums tr")
    assert words(rows.nth(0)) == ["Evidence", "1", "13", "ms", "2.0", "%"]
    assert words(rows.nth(4)) == ["CPU", "5", "35", "ms", "5.3", "%"]


def test_the_wheel_zooms_around_the_pointer(host_page: Opened) -> None:
    x, y, width, _ = host_page.canvas()
    host_page.page.mouse.move(x + width * 0.75, y + 60)
    begin, end = host_page.settled(lambda: host_page.page.mouse.wheel(0, -400))
    assert 0 < begin < end < 658 * MS
    assert end - begin < 658 * MS / 2
    wider = host_page.settled(lambda: host_page.page.mouse.wheel(0, 200))
    assert wider[1] - wider[0] > end - begin


def test_at_full_width_the_wheel_scrolls_the_page_on(host_page: Opened) -> None:
    x, y, _, _ = host_page.canvas()
    host_page.page.mouse.move(x + 400, y + 40)
    before = host_page.page.evaluate("scrollY")
    host_page.page.mouse.wheel(0, 300)
    host_page.page.wait_for_function("before => scrollY > before", arg=before)
    assert host_page.window == (0, 658 * MS)


def test_a_scroll_that_began_elsewhere_does_not_zoom(host_page: Opened) -> None:
    page = host_page.page
    page.evaluate(
        """() => {
            const options = {deltaY: -300, bubbles: true, cancelable: true};
            const wheel = () => new WheelEvent("wheel", options);
            document.body.dispatchEvent(wheel());
            document.getElementById("timeline-canvas").dispatchEvent(wheel());
        }"""
    )
    page.wait_for_timeout(300)
    assert host_page.window == (0, 658 * MS)


def test_keys_zoom_move_and_reset(host_page: Opened) -> None:
    canvas = host_page.page.locator("#timeline-canvas")
    canvas.focus()
    begin, end = host_page.settled(lambda: canvas.press("+"))
    assert end - begin == pytest.approx(329 * MS, rel=0.01)
    later = host_page.settled(lambda: canvas.press("ArrowRight"))
    assert later[0] > begin
    earlier = host_page.settled(lambda: canvas.press("ArrowLeft"))
    assert earlier[0] == pytest.approx(begin, abs=MS)
    steady = host_page.settled(lambda: canvas.press("s"))
    assert steady[0] == pytest.approx(620 * MS, abs=2 * MS)
    assert steady[1] == pytest.approx(658 * MS, abs=2 * MS)
    assert host_page.settled(lambda: canvas.press("0")) == (0, 658 * MS)


def test_buttons_do_what_the_keys_do(host_page: Opened) -> None:
    def button(name: str) -> Any:
        return host_page.page.locator(f'[data-do="{name}"]')

    begin, end = host_page.settled(button("in").click)
    assert end - begin == pytest.approx(329 * MS, rel=0.01)
    assert host_page.settled(button("left").click)[0] < begin
    assert host_page.settled(button("right").click)[0] == pytest.approx(begin, abs=MS)
    assert host_page.settled(button("out").click) == (0, 658 * MS)
    assert host_page.settled(button("steady").click)[0] > 600 * MS
    assert host_page.settled(button("all").click) == (0, 658 * MS)


def test_the_view_never_gets_narrower_than_a_hundred_nanoseconds(host_page: Opened) -> None:
    canvas = host_page.page.locator("#timeline-canvas")
    canvas.focus()
    for _ in range(40):
        canvas.press("+")
    host_page.page.wait_for_timeout(250)
    words = host_page.page.locator("#timeline-window").text_content()
    assert ": 100 ns of 658 ms." in words


def test_dragging_moves_and_shift_drag_selects(host_page: Opened) -> None:
    page = host_page.page
    canvas = page.locator("#timeline-canvas")
    canvas.focus()
    begin, _ = host_page.settled(lambda: canvas.press("+"))
    x, y, _, _ = host_page.canvas()

    def drag(to: float) -> None:
        page.mouse.move(x + 700, y + 60)
        page.mouse.down()
        page.mouse.move(x + to, y + 60, steps=4)
        page.mouse.up()

    assert host_page.settled(lambda: drag(600))[0] > begin
    page.keyboard.down("Shift")
    drag(900)
    page.keyboard.up("Shift")
    page.wait_for_function(
        "() => document.getElementById('timeline-range').textContent.startsWith('Selected')"
    )
    canvas.press("Escape")
    page.wait_for_function(
        "() => document.getElementById('timeline-range').textContent.startsWith('In view')"
    )


def test_a_finding_leads_to_its_window(host_page: Opened) -> None:
    link = host_page.page.locator("a[data-begin]")
    begin, end = host_page.settled(link.click)
    assert begin < 628 * MS < 641 * MS < end
    assert end - begin == pytest.approx(26 * MS, rel=0.01)
    assert host_page.page.evaluate("document.activeElement.id") == "timeline-canvas"
    top = host_page.page.locator("#timeline").bounding_box()["y"]
    assert -5 <= top <= 200


def test_a_tooltip_says_what_is_under_the_pointer(host_page: Opened) -> None:
    page = host_page.page
    host_page.settled(page.locator('[data-do="steady"]').click)
    x, y, width, _ = host_page.canvas()
    page.mouse.move(x + width * 0.2, y + 60)
    tip = page.locator("#timeline-tip")
    tip.wait_for(state="visible")
    assert tip.locator("b").text_content() == "steady"
    assert "38 ms from 0.620 000 s" in tip.inner_text()
    page.mouse.move(x + 5, y + 60)
    tip.wait_for(state="hidden")


def test_intervals_can_be_walked_by_keys_and_are_spoken(host_page: Opened) -> None:
    page = host_page.page
    canvas = page.locator("#timeline-canvas")
    spoken = page.locator("#timeline-spoken")
    canvas.focus()
    for _ in range(3):
        canvas.press("ArrowDown")
    assert spoken.text_content() == "Steps: 5 intervals. marked by the workload"
    canvas.press("n")
    assert spoken.text_content().startswith(
        "warm-up. 8 ms from 0.600 000 s. until handed over: 1 ms"
    )
    for _ in range(2):
        canvas.press("n")
    assert "from 0.620 000 s" in spoken.text_content()
    canvas.press("p")
    assert "from 0.610 000 s" in spoken.text_content()
    begin, end = host_page.settled(lambda: canvas.press("Enter"))
    assert (begin, end) == pytest.approx((608 * MS, 620 * MS), abs=MS)


def test_a_search_counts_and_goes_from_match_to_match(host_page: Opened) -> None:
    page = host_page.page
    field = page.locator("#timeline-search")
    field.fill("DECODE")
    assert page.locator("#timeline-matches").text_content() == "1 found"
    field.press("Enter")
    assert page.locator("#timeline-spoken").text_content().startswith("decode_f16.")
    field.fill("steady")
    assert page.locator("#timeline-matches").text_content() == "5 found"
    starts = set()
    for _ in range(5):
        page.locator('[data-do="next"]').click()
        starts.add(page.locator("#timeline-spoken").text_content())
    assert len(starts) == 5
    field.fill("submissions")
    assert page.locator("#timeline-matches").text_content() == "5 found"
    field.fill("no such thing")
    assert page.locator("#timeline-matches").text_content() == "0 found"
    field.press("Escape")
    assert page.locator("#timeline-matches").text_content() == ""


def test_words_of_the_script_are_words_of_the_page(host_page: Opened, host_run: Any) -> None:
    page = host_page.page
    page.locator("a[data-begin]").click()
    page.wait_for_timeout(250)
    evidence = words(page.locator("#timeline-sums tr").first)
    assert evidence[2:4] == ["13", "ms"]
    assert page.locator("a[data-begin]").inner_text().startswith("13 ms at")


@pytest.mark.parametrize("width", [320, 375, 800, 2560])
def test_no_width_needs_sideways_scrolling(host_page: Opened, width: int) -> None:
    host_page.page.set_viewport_size({"width": width, "height": 900})
    host_page.page.wait_for_timeout(150)
    assert host_page.page.evaluate("document.documentElement.scrollWidth") == width
    assert host_page.canvas()[2] <= width


@pytest.mark.parametrize(("choice", "dark"), [("theme-light", False), ("theme-dark", True)])
def test_the_reader_chooses_the_colours(host_page: Opened, choice: str, dark: bool) -> None:
    host_page.page.locator(f"#{choice}").check()
    ground = host_page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
    assert (brightness < 60) is dark


def test_commands_can_be_copied_or_selected(host_page: Opened) -> None:
    button = host_page.page.locator("pre.command button").first
    button.click()
    host_page.page.wait_for_function(
        "() => /^(Copied|Selected)/.test(document.querySelector('pre.command button').textContent)"
    )


def test_on_paper_the_still_timeline_takes_the_place_of_the_moving_one(host_page: Opened) -> None:
    host_page.page.emulate_media(media="print")
    assert host_page.page.locator("#timeline-still").is_visible()
    assert host_page.page.locator("#timeline-live").is_hidden()


def test_without_a_script_findings_and_timeline_are_there(
    open_page: Any, trace_run: Any, host_run: Any
) -> None:
    opened = open_page(html_of(host_run), java_script_enabled=False)
    page = opened.page
    assert page.get_by_text("Keep two steps in flight.").is_visible()
    assert page.get_by_text("the recording has no GPU counters.").is_visible()
    assert page.locator("#timeline-still").is_visible()
    assert page.locator("#timeline-still svg").count() == 7
    assert page.locator("#timeline-live").is_hidden()
    assert page.locator("[data-do]").first.is_hidden()
    page.locator("#theme-dark").check()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 20, 23)"


def test_a_trace_of_a_gpu_is_drawn_with_its_channels(open_page: Any, trace_run: Any) -> None:
    opened = open_page(html_of(trace_run))
    names = opened.page.locator("#timeline-sums th").all_text_contents()
    assert names == ["GPU Blit", "GPU Compute", "Idle gaps", "Compiler", "Driver", "WindowServer"]
    others = words(opened.page.locator("#timeline-sums tr").last)
    assert others[1:4] == ["2", "25", "µs"]
    assert opened.errors == []


def test_the_policy_holds_against_hostile_strings(
    open_page: Any, host_run: Any, frame: Any
) -> None:
    script = "</script><script>window.attacked=1</script>"
    attack = f"{script}<img src='//x.invalid/a.png' onerror='window.attacked=2'>"
    finding = Finding(attack, Severity.ERROR, attack, attack, (Evidence(attack, 1, 2),))
    rows = [{"start": 5, "duration": 5, "channel": attack, "label": attack, "target": True}]
    tables = {**host_run.tables, "gpu_intervals": frame("gpu_intervals", rows)}
    run = host_run.having(findings=(finding,))
    opened = open_page(render(run.result, tables, redact=str))
    opened.page.locator("#timeline-search").fill("attacked")
    opened.page.locator('[data-do="next"]').click()
    assert (
        "<script>window.attacked=1</script>"
        in opened.page.locator("#timeline-tip b").text_content()
    )
    assert opened.page.evaluate("window.attacked") is None
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert opened.errors == []


def test_the_policy_stops_a_script_and_a_request_that_slipped_in(
    open_page: Any, host_run: Any
) -> None:
    slipped = "<script>window.attacked=1</script><img src='https://x.invalid/a.png'></main>"
    opened = open_page(html_of(host_run).replace("</main>", slipped))
    assert opened.page.evaluate("window.attacked") is None
    assert len([one for one in opened.errors if "Content Security Policy" in one]) >= 2


def test_damaged_data_leave_the_still_timeline_and_say_so(
    open_page: Any, host_run: Any, browser: Any
) -> None:
    html = re.sub(r'(id="timeline-data">)[^<]+', r"\1AAAA", html_of(host_run))
    file_page = open_page(html, java_script_enabled=False).page
    assert file_page.locator("#timeline-still").is_visible()
    context = browser.new_context()
    page = context.new_page()
    page.goto(file_page.url)
    notice = page.locator("#timeline-trouble")
    notice.wait_for(state="visible")
    assert notice.text_content().startswith(
        "The timeline cannot be made to move: its data are damaged"
    )
    assert page.locator("#timeline-still").is_visible()
    context.close()


def test_a_hundred_thousand_intervals_are_drawn_and_zoomed(
    open_page: Any, bare: Any, frame: Any
) -> None:
    number = 100_000
    rows = [
        {
            "start": 10_000 * at,
            "duration": 4_000 + at % 3_000,
            "channel": "Compute",
            "label": f"kernel {at % 50}",
            "target": True,
            "clock": "gpu",
        }
        for at in range(number)
    ]
    tables = {"gpu_intervals": frame("gpu_intervals", rows)}
    opened = open_page(render(bare.result, tables, redact=str))
    row = words(opened.page.locator("#timeline-sums tr").first)
    assert row[:3] == ["GPU", "Compute", "100,000"]
    canvas = opened.page.locator("#timeline-canvas")
    canvas.focus()
    for _ in range(9):
        canvas.press("+")
    opened.page.wait_for_timeout(300)
    begin, end = opened.window
    assert end - begin == pytest.approx(10_000 * number / 2**9, rel=0.02)
    seen = int(opened.page.locator("#timeline-sums td").first.inner_text().replace(",", ""))
    assert seen == pytest.approx((end - begin) / 10_000, abs=2)
    assert opened.errors == []
