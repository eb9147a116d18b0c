"""A page in headless Chromium: how soon it paints, how long a frame of its timeline takes."""

import os
import shutil
import statistics
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_WIDE: Any = {"width": 1440, "height": 900}

# Every frame that the page asks for is timed from its begin to its end, drawing included.
_WATCH = """
window.frames_ms = [];
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) => ask((now) => {
  const began = performance.now();
  draw(now);
  window.frames_ms.push(performance.now() - began);
});
"""


@dataclass(frozen=True)
class Browsed:
    """What was measured of one page, in ms; a frame is the script's work for one."""

    first_paint: float
    drawn: float
    zoom: tuple[float, ...]
    pan: tuple[float, ...]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The measurements in words."""
        return [
            ("first paint", f"{self.first_paint:.0f} ms"),
            ("timeline drawn", f"{self.drawn:.0f} ms"),
            ("a frame while zooming", _words(self.zoom)),
            ("a frame while moving", _words(self.pan)),
        ]


def browse(page_file: Path, turns: int = 60) -> Browsed:
    """Open a page, zoom in and out by the wheel, and move by dragging.

    Raises:
        ImportError: playwright is not installed.
        FileNotFoundError: There is no Chromium.
    """
    with _new_page() as page:
        page.add_init_script(_WATCH)
        page.goto(page_file.as_uri())
        page.wait_for_selector("#timeline-sums tr", state="attached", timeout=60_000)
        drawn = page.evaluate("performance.now()")
        paint = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
        )
        return Browsed(paint, drawn, _zoomed(page, turns), _moved(page, turns))


def painted(page_file: Path) -> tuple[float, float, int]:
    """Open a page without a timeline: its first paint and its end in ms, and its elements.

    Raises:
        ImportError: playwright is not installed.
        FileNotFoundError: There is no Chromium.
    """
    with _new_page() as page:
        page.goto(page_file.as_uri())
        page.wait_for_function(
            "() => performance.getEntriesByName('first-contentful-paint').length > 0"
        )
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        complete = page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
        elements = page.evaluate("document.querySelectorAll('*').length")
    return paint, complete, elements


@contextmanager
def _new_page() -> Generator[Any]:
    """Give an empty page of a browser that is closed afterwards."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield browser.new_page(viewport=_WIDE)
        browser.close()


def chromium() -> str:
    """Return where Chromium is: as TRACEKIT_CHROMIUM says, or the first on the path."""
    named = os.environ.get("TRACEKIT_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError(f"none of {', '.join(NAMES)} is on the path")
    return found


def _zoomed(page: Any, turns: int) -> tuple[float, ...]:
    canvas = page.locator("#timeline-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, max(box["y"] + 40, 60))
    return _frames(page, lambda turn: page.mouse.wheel(0, -120 if turn < turns / 2 else 110), turns)


def _moved(page: Any, turns: int) -> tuple[float, ...]:
    """Drag at three depths: the whole run is in view, a fiftieth of it, a hundredth of that."""
    found: list[float] = []
    canvas = page.locator("#timeline-canvas")
    for keys in (1, 5, 7):
        canvas.focus()
        for _ in range(keys):
            canvas.press("+")
        page.wait_for_timeout(300)
        box = canvas.bounding_box()
        x, y = box["x"] + box["width"] / 2, max(box["y"] + 40, 60)
        page.mouse.move(x, y)
        page.mouse.down()
        found += _frames(page, lambda turn: page.mouse.move(x - 5 * turn, y), turns // 3)  # noqa: B023
        page.mouse.up()
    return tuple(found)


def _frames(page: Any, act: Any, turns: int) -> tuple[float, ...]:
    page.wait_for_timeout(400)
    page.evaluate("window.frames_ms.length = 0")
    for turn in range(turns):
        act(turn)
    page.wait_for_timeout(50)
    return tuple(page.evaluate("window.frames_ms"))


def _words(frames: tuple[float, ...]) -> str:
    if not frames:
        return "none was drawn"
    ordered = sorted(frames)
    high = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    return (
        f"{statistics.median(ordered):.1f} ms (95th percentile {high:.1f}, {len(ordered)} frames)"
    )
