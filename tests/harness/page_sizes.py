"""Measure pages as readers meet them: `uv run python tests/harness/page_sizes.py PAGE.html …`.

It prints a row for each page: heights at both widths, the words that can be read without opening a
fold, the longest title, and how often the page says that something is not available.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))  # as a script it has only its folder

from paging.browsing import FLAGS, chromium

WIDE = 1400
SCREEN = 900
NARROW = 400

_MEASURE = """() => {
    const shown = (element) => element.checkVisibility({ visibilityProperty: true });
    const spoken = (element) => element.innerText ?? "";
    const titles = [...document.querySelectorAll("h1, h2, h3")].filter(shown);
    const lengths = titles.map((title) => {
        const signs = [...title.querySelectorAll("[aria-hidden]")].map(spoken).join("");
        return title.innerText.replace(/\\s+/g, " ").trim().length - signs.length;
    });
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const sizes = [];
    while (texts.nextNode()) {
        const parent = texts.currentNode.parentElement;
        const drawn = parent.closest("svg, canvas, script, style, .unseen, .skip");
        if (!drawn && texts.currentNode.data.trim() && shown(parent))
            sizes.push(parseFloat(getComputedStyle(parent).fontSize));
    }
    const words = spoken(document.body);
    const folds = [...document.querySelectorAll("details")].filter(shown);
    return {
        height: document.documentElement.scrollHeight,
        width: document.documentElement.scrollWidth,
        words: words.split(/\\s+/).filter(Boolean).length,
        title: Math.max(0, ...lengths),
        absences: (document.body.textContent.match(/not available/gi) ?? []).length,
        type: Math.min(...sizes),
        open: folds.filter((fold) => fold.open).length,
        folds: folds.length,
    };
}"""


@dataclass(frozen=True)
class Layout:
    """A page at one width: its height and width in pixels, and what can be read of it.

    `words` are those outside of closed folds, `title` the length of the longest heading, `type` the
    smallest size of a letter in pixels, `absences` how often the page says "not available".
    """

    height: int
    width: int
    words: int
    title: int
    absences: int
    type: float
    open: int
    folds: int


_DRAWINGS = """() => {
    const sizes = [];
    const covered = [];
    for (const drawing of document.querySelectorAll("svg")) {
        if (!drawing.checkVisibility()) continue;
        const words = [...drawing.querySelectorAll("text")];
        const texts = words.filter((text) => text.textContent.trim());
        const boxes = texts.map((text) => text.getBoundingClientRect());
        texts.forEach((text, place) => {
            const { b, d } = text.getScreenCTM();
            sizes.push(parseFloat(getComputedStyle(text).fontSize) * Math.hypot(b, d));
            for (let other = 0; other < place; other++) {
                const [one, two] = [boxes[place], boxes[other]];
                const across = Math.min(one.right, two.right) - Math.max(one.left, two.left);
                const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
                const both = `${texts[other].textContent} and ${text.textContent}`;
                if (across > 1 && down > 3) covered.push(both);
            }
        });
    }
    return { type: sizes.length ? Math.min(...sizes) : null, covered };
}"""


@dataclass(frozen=True)
class Drawings:
    """The words in all drawings of a page, folded ones included.

    `type` is the smallest size of a letter on the screen in pixels, None without words; `covered`
    are pairs of words of which one lies on the other.
    """

    type: float | None
    covered: list[str]


def open_folds(page: Any) -> None:
    """Open all folds of a page."""
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")


def measure_drawings(page: Any, width: int) -> Drawings:
    """Open all folds of a page at a width, and measure the words in its drawings."""
    page.set_viewport_size({"width": width, "height": SCREEN})
    page.wait_for_function("width => innerWidth === width", arg=width)
    open_folds(page)
    return Drawings(**page.evaluate(_DRAWINGS))


def measure_layout(page: Any, width: int) -> Layout:
    """Lay out a page that is open in a browser at a width, and measure it."""
    page.set_viewport_size({"width": width, "height": SCREEN})
    page.wait_for_function("width => innerWidth === width", arg=width)
    page.wait_for_timeout(250)  # the timeline follows the width with the next frame
    return Layout(**page.evaluate(_MEASURE))


def measure_files(browser: Any, files: Sequence[Path]) -> Iterator[tuple[str, Layout, Layout]]:
    """Yield the name of each file, and its layout on a wide and on a narrow screen."""
    for file in files:
        context = browser.new_context(viewport={"width": WIDE, "height": SCREEN})
        page = context.new_page()
        page.goto(file.resolve().as_uri())
        page.wait_for_timeout(500)  # a timeline is unpacked
        wide = measure_layout(page, WIDE)
        yield file.stem, wide, measure_layout(page, NARROW)
        context.close()


def main() -> None:
    """Print a row for each page that the command line names."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only the script needs it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        print("page", "height", "at 400 px", "words", "title", "not available", "type", sep="\t")
        for name, wide, narrow in measure_files(browser, [Path(word) for word in sys.argv[1:]]):
            heights = (wide.height, narrow.height)
            print(name, *heights, wide.words, wide.title, wide.absences, wide.type, sep="\t")
        browser.close()


if __name__ == "__main__":
    main()
