"""What a page says: its sections in lines, for golden files."""

import re
from collections.abc import Iterator
from typing import Any

from lxml import html

WORDED = {"h1", "h2", "h3", "summary", "p", "li", "dt", "dd", "pre", "figcaption"}
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
        elif element.tag in WORDED:
            if not element.xpath("./p | ./ul") and not words.startswith("Not recorded:"):
                yield f"{element.tag} {words}"
        elif element.tag == "section":
            yield f"\n== {element.get('aria-labelledby').removesuffix('-title')}"
