"""The page of a batch in a browser."""

from typing import Any

import pytest

from tracekit.fleet.batch.page import render_batch
from tracekit.fleet.batch.results import BatchRow, RowFinding

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page() -> str:
    """The page of sixty recordings, of which some failed."""
    message = "The GPU idles 12 % of the steady window."
    found = RowFinding("bubbles", "warning", message, "", 2.5)
    good = [
        BatchRow(
            f"s3://bucket/a/rather/long/folder/of/traces/run-{n:03d}.trace",
            *("k", "k", "", "run", "ok"),
            device="Apple M4, macOS 26.3.1",
            workload="paged",
            duration=2.0,
            metrics={"gpu_busy": 1e6 * (n % 17), "tokens_per_second": 900.0 + n, "idle_ratio": 0.1},
            findings=(found,) if n % 3 else (),
        )
        for n in range(55)
    ]
    bad = [
        BatchRow(
            f"bad-{n}", "k", "k", "", "run", "failed", f"bad-{n} cannot be read.", "Export it."
        )
        for n in range(5)
    ]
    return render_batch([*good, *bad], "out", redact=str)


@pytest.mark.parametrize("width", [320, 800, 2560])
def test_no_width_needs_sideways_scrolling(open_page: Any, page: str, width: int) -> None:
    opened = open_page(page)
    opened.page.set_viewport_size({"width": width, "height": 900})
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert opened.errors == []
    assert [one for one in opened.requests if not one.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize(
    ("choice", "shown"), [("all", 60), ("failed", 5), ("found", 36), ("clean", 19)]
)
def test_a_reader_chooses_what_is_listed_without_a_script(
    open_page: Any, page: str, choice: str, shown: int
) -> None:
    opened = open_page(page, java_script_enabled=False)
    opened.page.locator(f"#show-{choice}").check()
    rows = opened.page.locator("table.runs tbody tr")
    assert sum(row.is_visible() for row in rows.all()) == shown
