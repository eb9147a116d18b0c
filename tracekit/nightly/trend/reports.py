"""Where the reports of a night are: links that lead from the page into the folders beside it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from tracekit.nightly.trend.course import Fared

Links = Callable[[str], str]

_PAGE = "report.html"


def beside(path: str) -> str:
    """Return the link to a path relative to the page's folder; none to a whole one.

    A whole path names a person's folders, and is right on one machine only.
    """
    return "" if path.startswith(("/", "\\")) or path[1:2] == ":" else quote(path, errors="replace")


def links_from(page: Path, history: Path) -> Links:
    """Return what links from a page to files of a history that are there.

    Args:
        page: The folder of the page.
        history: The folder that holds the history: folders of nights are relative to it.
    """

    def link(path: str) -> str:
        file = history / path
        if not file.is_file():
            return ""
        return quote(Path(os.path.relpath(file, page)).as_posix(), errors="replace")

    return link


def reports_of(fared: Fared, links: Links) -> Iterator[tuple[str, str]]:
    """Yield links and words of the reports that a night has of a capture, candidates first."""
    if fared.night is None or fared.entry is None or not fared.night.folder:
        return
    sides = ("candidate", "reference")
    traced = [one for one in fared.entry.pairs if one.runs]
    for side, words in enumerate(sides):
        for number, pair in enumerate(traced, 1):
            if side < len(pair.runs):
                href = links(f"{fared.night.folder}/{pair.runs[side]}/{_PAGE}")
                if href:
                    yield href, words if len(traced) == 1 else f"{words} {number}"


def first_report(fared: Fared, links: Links) -> str:
    """Return the link that a night's mark leads to: the candidate's first report, or nothing."""
    return next((href for href, _ in reports_of(fared, links)), "")
