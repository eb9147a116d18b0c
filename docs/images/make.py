"""Take the pictures of the docs again: `uv run python docs/images/make.py`.

Records `paged` twice with the host recorder, has the labelled corpus make a trace of a GPU that
waits, takes the packaged recordings and the made-up nights of the tests, and photographs their
pages with the Chromium that is installed. `--gallery` photographs the packaged ones alone.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tracekit import app, pipeline
from tracekit.base import Recording
from tracekit.nightly.trend.page import render_trend
from tracekit.workload import Plan, find

HERE = Path(__file__).parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROOT = HERE.parents[1]
TREND = (1280, 1040, "light")
MADE = "20000"  # the seed of a trace in which the device waits for more than one reason
README_PICTURE = {"bubbles": "report-light"}  # of the packaged recordings; others are `demo-NAME`


def capture(plan: Plan) -> Path:
    """Record, and return the page."""
    recording = pipeline.record(plan)
    pipeline.export(recording)
    pipeline.analyze(recording)
    return pipeline.report(recording)


def opened(browser: Browser, page: Path, width: int, height: int, scheme: str) -> Page:
    """Open the page in a window of its own."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    window = context.new_page()
    window.goto(page.as_uri())
    window.wait_for_timeout(500)
    return window


def made(folder: Path) -> Path:
    """Write a trace with known faults, judge it, and return its page."""
    score = ROOT / "tests" / "exam" / "labelled" / "score.py"
    subprocess.run((sys.executable, score, "--write", folder, MADE), check=True)
    pipeline.analyze(Recording(folder))
    return pipeline.report(Recording(folder))


def compared(before: Path, after: Path, page: Path) -> Path:
    """Compare two runs, and return the page."""
    sides = (str(before.parent), str(after.parent))
    subprocess.run(
        (sys.executable, "-m", "tracekit", "compare", *sides, "--html", page), check=True
    )
    return page


def photograph_packaged(browser: Browser, folder: Path) -> None:
    """Photograph the first screen of each packaged recording's page, for README and gallery."""
    for demo in app.demo.make_demos(folder / "demo"):
        name = demo.report_file.parent.name
        window = opened(browser, demo.report_file, 1280, 860, "light")
        window.screenshot(path=HERE / f"{README_PICTURE.get(name, f'demo-{name}')}.png")


def made_trend(page: Path) -> Path:
    """Write the page of forty nights of the tests, in which nothing was measured."""
    sys.path.insert(0, str(ROOT / "tests" / "harness"))
    import made_nights  # noqa: PLC0415  the path of the tests is known now

    history = made_nights.history()
    html = render_trend(
        history.series,
        history.nights,
        history.accepted,
        missed=history.missed_nights,
        now=made_nights.NOW,
        redact=str,
        links=str,
    )
    page.write_text(html, encoding="utf-8")
    return page


def main() -> None:
    """Record and photograph."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("No Chromium is installed.")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        photograph_packaged(browser, folder)
        if sys.argv[1:] == ["--gallery"]:
            return
        first, second = (
            capture(Plan(find("paged"), recorder="host", time_limit=5, output=folder / name))
            for name in ("monday", "tuesday")
        )
        waiting = made(folder / "made")
        both = compared(first, second, folder / "compared.html")
        for name, page, width, height, scheme in (
            ("report-dark", waiting, 1280, 1100, "dark"),
            ("report-narrow", waiting, 375, 812, "light"),
            ("compare-light", both, 1280, 860, "light"),
        ):
            opened(browser, page, width, height, scheme).screenshot(path=HERE / f"{name}.png")
        window = opened(browser, waiting, 1280, 700, "light")
        window.locator("#findings a[href^='#']").first.click()
        window.wait_for_timeout(500)
        window.screenshot(path=HERE / "timeline-evidence.png")
        trend = opened(browser, made_trend(folder / "trend.html"), *TREND)
        trend.screenshot(path=HERE / "trend-light.png")
        browser.close()


if __name__ == "__main__":
    main()
