"""All that pages say and draw, of runs that fill their panels: one golden file a run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from tracekit.report.render import render

GOLDENS = Path(__file__).parent / "goldens"
RUNS = ("bare", "host_run", "trace_run", "paced_run", "served_run", "profiled_run", "replayed_run")
DRAWN = ("d", "x", "y", "width", "cx", "cy", "transform")


def readable(page: str) -> str:
    """Return the sections of a page: a row of a table a line, and where marks are drawn."""
    root = html.document_fromstring(page)
    return "\n".join(line for part in root.iter("header", "section") for line in lines(part))


def lines(part: Any) -> Iterator[str]:
    for element in part.iter():
        if element.tag in {"script", "style"}:
            continue
        words = " ".join(" ".join(element.itertext()).split())
        places = [element.get(name, "") for name in DRAWN if element.get(name)]
        if element.tag == "tr":
            cells = (" ".join(cell.text_content().split()) for cell in element)
            line = f"{element.get('class') or 'row'}: {' | '.join(cells)}"
            if not re.match("unknown: .* the recording has no table", line):
                yield line
        elif element.tag in {"rect", "path", "circle", "text"}:
            yield f"  {element.get('class') or element.tag} {' '.join(places)} {words}".rstrip()
        elif element.tag in {"h1", "h2", "h3", "p", "li", "dt", "dd", "pre", "figcaption"}:
            if not element.xpath("./p | ./ul") and not words.startswith("Not recorded:"):
                yield f"{element.tag} {words}"
        elif element.tag == "section":
            yield f"\n== {element.get('id')}"


@pytest.mark.parametrize("name", RUNS)
def test_a_page_says_and_draws_what_its_golden_file_holds(
    request: pytest.FixtureRequest, name: str
) -> None:
    run = request.getfixturevalue(name)
    page = render(run.result, run.tables, redact=str)
    assert render(run.result, run.tables, redact=str) == page
    file = GOLDENS / f"{name}.txt"
    if request.config.getoption("--update-goldens"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(readable(page) + "\n")
    assert readable(page) + "\n" == file.read_text()
