"""A page in the browser, and all that it said and asked for."""

import re
from dataclasses import dataclass, field
from typing import Any

from tracekit.report.render import render

UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}
MS = 10**6


@dataclass
class Opened:
    """A page in the browser, and all that it said and asked for."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def visit(self, address: str, *, scripted: bool = True) -> None:
        """Load a page, and wait until its timeline is drawn."""
        self.page.goto(address)
        if scripted:
            self.page.wait_for_selector(
                "#timeline-sums tr, main:not(:has(#timeline-data))", state="attached"
            )

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
        return self.window

    def sums(self, of: str) -> None:
        """Wait until the sums are those of what `of` begins."""
        self.page.wait_for_function(
            "of => document.getElementById('timeline-range').textContent.startsWith(of)", arg=of
        )

    def canvas(self) -> tuple[float, float, float, float]:
        canvas = self.page.locator("#timeline-canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        return box["x"], box["y"], box["width"], box["height"]


def opened_in(context: Any) -> Opened:
    opened = Opened(context.new_page())
    opened.page.on("console", lambda said: opened.errors.append(f"{said.type}: {said.text}"))
    opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    return opened


def html_of(run: Any) -> str:
    return render(run.result, run.tables, redact=str)


def words(row: Any) -> list[str]:
    """The words of a row, cell by cell, whether it is laid out already or not."""
    return " ".join(row.locator("th, td").all_text_contents()).split()
