"""Take the pictures of the docs anew: `uv run python docs/images/make.py`.

Records two runs with the host recorder, one of `paged` and one of a workload that makes the
device wait, and photographs their pages with the Chromium that is installed.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tracekit import pipeline
from tracekit.plan import Plan
from tracekit.workload import find

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
WAITING = '''
import time
from tracekit.workload import Step, workload

@workload
def waiting(busy: float = 0.004, pause: float = 0.003) -> Step:
    """Let the device wait between steps."""
    def submit():
        time.sleep(pause)
        return busy
    return Step(submit=submit, wait=time.sleep, backend="cpu", tokens=1)
'''


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


def main() -> None:
    """Record and photograph."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("No Chromium is installed.")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        (folder / "waiting.py").write_text(WAITING)
        paged = capture(Plan(find("paged"), recorder="host", time_limit=5, output=folder / "paged"))
        waiting = capture(
            Plan(find("waiting", folder), recorder="host", time_limit=2, output=folder / "waiting")
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, page, width, height, scheme in (
            ("report-light", paged, 1280, 860, "light"),
            ("report-dark", waiting, 1280, 860, "dark"),
            ("report-narrow", waiting, 375, 812, "light"),
        ):
            opened(browser, page, width, height, scheme).screenshot(path=HERE / f"{name}.png")
        window = opened(browser, waiting, 1280, 600, "light")
        window.locator("#findings a[href^='#']").first.click()
        window.wait_for_timeout(500)
        window.screenshot(path=HERE / "timeline-evidence.png")
        browser.close()


if __name__ == "__main__":
    main()
