"""The timeline is zoomed and moved, by wheel, keys, buttons and dragging."""

from typing import Any

import pytest

from opened_page import MS, Opened, words
from tracekit.report.render import render

pytestmark = pytest.mark.browser


def test_the_whole_run_is_in_view_at_first(host_page: Opened) -> None:
    assert host_page.window == (0, 658 * MS)
    assert host_page.page.locator("#timeline-still").is_hidden()
    rows = host_page.page.locator("#timeline-sums tr")
    assert words(rows.nth(0)) == ["Evidence", "1", "13", "ms", "2.0", "%"]
    assert words(rows.nth(4)) == ["CPU", "5", "35", "ms", "5.3", "%"]


def test_the_wheel_zooms_around_the_pointer_and_at_full_width_scrolls_on(
    host_page: Opened,
) -> None:
    page = host_page.page
    page.evaluate(
        """() => {
            const options = {deltaY: -300, bubbles: true, cancelable: true};
            const wheel = () => new WheelEvent("wheel", options);
            document.body.dispatchEvent(wheel());
            document.getElementById("timeline-canvas").dispatchEvent(wheel());
        }"""
    )
    page.wait_for_timeout(200)
    assert host_page.window == (0, 658 * MS), "a scroll that began elsewhere does not zoom"
    x, y, width, _ = host_page.canvas()
    page.mouse.move(x + width * 0.75, y + 60)
    begin, end = host_page.settled(lambda: page.mouse.wheel(0, -400))
    assert 0 < begin < end < 658 * MS
    assert end - begin < 658 * MS / 2
    later = host_page.settled(lambda: page.mouse.wheel(200, 0))
    assert later[0] > begin
    assert later[1] - later[0] == pytest.approx(end - begin, rel=0.01)
    canvas = page.locator("#timeline-canvas")
    assert host_page.settled(lambda: canvas.press("Home")) == (0, 658 * MS)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 300)
    page.wait_for_function("before => scrollY > before", arg=before)
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
    for _ in range(24):
        canvas.press("+")
    host_page.sums("In view: 100 ns")


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
    host_page.sums("Selected")
    canvas.press("Escape")
    host_page.sums("In view")


def test_a_double_click_fills_the_view_with_an_interval(host_page: Opened) -> None:
    x, y, width, _ = host_page.canvas()
    begin, end = host_page.settled(lambda: host_page.page.mouse.dblclick(x + width - 9, y + 60))
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

    begin, end = host_page.settled(pinch)
    assert end - begin == pytest.approx(329 * MS, rel=0.02)


def test_a_long_interval_is_drawn_though_short_ones_begin_in_its_pixel(
    open_page: Any, bare: Any, frame: Any
) -> None:
    own = {"channel": "Compute", "label": "k", "target": True, "clock": "gpu"}
    rows = [
        {"start": start, "duration": length, **own}
        for start, length in ((0, 10), (50, 10), (100, 400_000), (900_000, 100_000))
    ]
    opened = open_page(
        render(bare.result, {"gpu_intervals": frame("gpu_intervals", rows)}, redact=str)
    )
    shares = (0.2, 0.6, 0.95)
    colours = opened.page.evaluate(
        """shares => {
            const canvas = document.getElementById("timeline-canvas");
            const wide = canvas.clientWidth - 190;
            const pen = canvas.getContext("2d");
            const across = shares.map((one) => (190 + wide * one) * devicePixelRatio);
            return across.map((x) => pen.getImageData(x, 30 * devicePixelRatio, 1, 1).data.join());
        }""",
        shares,
    )
    assert colours[0] == colours[2] != colours[1]
