"""What happened between nights, and where the reports of a night are."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from string import ascii_uppercase
from urllib.parse import quote

from tracekit.base import short_commit
from tracekit.nightly.history.night import Accepted
from tracekit.nightly.trend.course import Course, Fared
from tracekit.nightly.trend.words import day, moment_of
from tracekit.report import flat

Links = Callable[[str], str]


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
    traced = [one for one in fared.entry.pairs if one.runs]
    for side, words in enumerate(("candidate", "reference")):
        for number, pair in enumerate(traced, 1):
            for run in pair.runs[side : side + 1]:
                if href := links(f"{fared.night.folder}/{run}/report.html"):
                    yield href, words if len(traced) == 1 else f"{words} {number}"


def first_report(fared: Fared, links: Links) -> str:
    """Return the link that a night's mark leads to: the candidate's first report, or nothing."""
    return next((href for href, _ in reports_of(fared, links)), "")


NOT_STATED = "not stated"
_FEW_NIGHTS = 6
_OFTEN = 1 / 3  # what changes on more of the nights than this is said once, not drawn each time
_SHORT = 12  # characters of a commit or a digest that are shown
_DIGESTS = ("plan", "commit")
_SPELLED = {"mlx": "MLX", "os": "system", "os build": "OS build", "xcode build": "Xcode build"}


@dataclass(frozen=True)
class Happening:
    """Something that happened to a course at one night, lettered as on its charts.

    `at` is when the first night with it began. It is a baseline that was `accepted`; else the
    environment changed.
    """

    letter: str
    at: str
    accepted: bool
    words: str


def happenings(course: Course) -> tuple[Happening, ...]:
    """Return what is drawn as lines and marks on a course's charts, oldest first."""
    often = _often(course)
    found = [(at, False, "; ".join(_in_words(one, often))) for at, one in _changed(course)]
    found = [one for one in found if one[2]]
    found += [
        (_night_of(one, course), True, f"accepted on {day(one.at)}{_by(one)}: {one.reason}")
        for one in course.accepted
    ]
    found.sort(key=lambda one: (moment_of(one[0]), one[1]))
    return tuple(Happening(_letter(place), *one) for place, one in enumerate(found))


def _by(accepted: Accepted) -> str:
    return f" by {accepted.who}" if accepted.who else ""


def restless(course: Course) -> tuple[str, ...]:
    """Return the facts that change so often that they are not drawn, such as a commit."""
    return tuple(sorted(_often(course)))


def changed_at(course: Course, at: str) -> str:
    """Return all that changed with one night, for who asks what made a step; may be empty."""
    found = [one for when, one in _changed(course) if when == at]
    return "; ".join(words for one in found for words in _in_words(one))


def _changed(course: Course) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Yield each night before which facts changed: fact to (from, to)."""
    for old, new in pairwise(_known(course)):
        before, after = _facts(old), _facts(new)
        found = {
            name: (before.get(name, NOT_STATED), after.get(name, NOT_STATED))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name)
        }
        if found:
            yield new.at, found


def _known(course: Course) -> list[Fared]:
    return [fared for fared in course.fared if fared.night is not None and fared.entry is not None]


def _facts(fared: Fared) -> Mapping[str, str]:
    """Return what a night was measured on and with, by name; the candidate's commit counts."""
    night, entry = fared.night, fared.entry
    if night is None or entry is None:
        return {}
    facts = {"plan": night.digest, "backend": entry.backend}
    for side, one in (("candidate", entry.candidate), ("reference", entry.reference)):
        if one is not None:
            facts[f"{side}'s Python"] = one.python
            facts[f"{side}'s MLX"] = one.mlx
            facts[f"{side}'s tracekit"] = one.tracekit
            facts[f"{side}'s commit"] = one.commit
    stated = {_SPELLED.get(name, name): value for name, value in flat(night.environment)}
    return stated | {name: value for name, value in facts.items() if value}


def _often(course: Course) -> frozenset[str]:
    nights = len(_known(course))
    if nights < _FEW_NIGHTS:
        return frozenset()
    times = Counter(name for _, one in _changed(course) for name in one)
    return frozenset(name for name, number in times.items() if number > nights * _OFTEN)


def _in_words(
    changed: Mapping[str, tuple[str, str]], left_out: Iterable[str] = ()
) -> Iterator[str]:
    """Put changes into words; what both sides or the machine had in common is said once."""
    said: set[tuple[str, str, str]] = set()
    for name, (before, after) in changed.items():
        fact = name.rpartition("'s ")[2]
        same = (fact.lower(), before, after)
        if name in left_out or same in said:
            continue
        said.add(same)
        short = fact in _DIGESTS
        old, new = (short_commit(one, _SHORT) if short else one for one in (before, after))
        yield f"{name} {old} → {new}"


def _night_of(accepted: Accepted, course: Course) -> str:
    """Return when an accepted night began; when it was accepted where that night is not known."""
    known = (fared.night for fared in course.fared if fared.night is not None)
    return next((one.started for one in known if one.id == accepted.night), accepted.at)


def _letter(place: int) -> str:
    """Return A … Z, AA, AB … ."""
    before, last = divmod(place, len(ascii_uppercase))
    return (_letter(before - 1) if before else "") + ascii_uppercase[last]
