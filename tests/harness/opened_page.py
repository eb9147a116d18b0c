"""A page in the browser, and all that it said and asked for."""

import re
from dataclasses import dataclass, field
from typing import Any

from tracekit.report import render

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


def html_of(run: Any) -> str:
    return render(run.result, run.tables, redact=str)


def words(row: Any) -> list[str]:
    """The words of a row, cell by cell, whether it is laid out already or not."""
    return " ".join(row.locator("th, td").all_text_contents()).split()
