"""Recordings below folders, patterns and URLs."""

import re
from collections.abc import Iterable, Iterator

from fsspec.utils import glob_translate

from tracekit.base.errors import InputError, UsageError
from tracekit.fleet.batch.place import Place, Said, place_of
from tracekit.fleet.batch.source import Form, Source
from tracekit.fleet.batch.urls import fixed, is_pattern

_DEEPEST = 32
_HEAD = 4096
_EXPORT = re.compile(rb"<trace-(toc|query-result)[\s>/]")
_BUNDLE, _ZIPPED, _GPUTRACE = ".trace", ".trace.zip", ".gputrace"


def sources_of(words: Iterable[str]) -> list[Source]:
    """Return each recording that paths, patterns and URLs lead to, once, in their order.

    A folder is a run, a bundle, or is looked through for these and for exports. Links to folders
    and hidden folders are not looked through.

    Raises:
        UsageError: Something does not exist, is no recording, or its file system is unknown.
        InputError: A folder cannot be read, or nothing at all was found.
    """
    asked = list(words)
    found = {one.key: one for each in asked for one in _of(each)}
    if not found:
        raise InputError(
            f"There is no recording in {', '.join(asked)}.",
            hint="A recording is a .trace, a run's folder, or a folder with exports of xctrace.",
        )
    return list(found.values())


def _of(words: str) -> Iterator[Source]:
    if not is_pattern(words):
        place = place_of(words)
        yield from _named(place, place.info())
        return
    path = place_of(words).path
    deepest = _DEEPEST if "**" in path else path.count("/")
    try:
        pattern = re.compile(glob_translate(path))
    except ValueError as error:
        raise UsageError(
            f"{words} is no pattern: {error}.", hint="Write folder/**/*.trace."
        ) from error
    for place, said in _matching(place_of(fixed(words)), pattern, deepest):
        yield from _named(place, said, strict=False)


def _matching(
    folder: Place, pattern: re.Pattern[str], deepest: int
) -> Iterator[tuple[Place, Said]]:
    for place, said in folder.listed():
        if pattern.match(place.path):
            yield place, said
        elif _to_look_through(place, said) and not _deep_enough(place, deepest):
            yield from _matching(place, pattern, deepest)


def _named(place: Place, said: Said, *, strict: bool = True) -> Iterator[Source]:
    """Yield what a name stands for; of what a pattern matches, other files are passed over."""
    if said["type"] == "directory":
        yield from _in(place, _DEEPEST)
    elif place.base.lower().endswith(_ZIPPED):
        yield Source(place, Form.ZIPPED)
    elif place.base.lower().endswith(".xml") and (strict or _is_export(place)):
        yield Source(place, Form.EXPORTS)
    elif strict:
        raise UsageError(
            f"{place.name} is no recording.",
            hint="Name a .trace, a .trace.zip, a run's folder or one with exports.",
        )


def _in(folder: Place, deepest: int) -> Iterator[Source]:
    there = folder.listed()
    if any(place.base == "recording.json" for place, _ in there):
        yield Source(folder, Form.RUN)
        return
    if folder.base.lower().endswith(_BUNDLE):
        yield Source(folder, Form.BUNDLE)
        return
    files = [place for place, said in there if said["type"] == "file"]
    if any(_is_export(place) for place in files):
        yield Source(folder, Form.EXPORTS)
    yield from (
        Source(place, Form.ZIPPED) for place in files if place.base.lower().endswith(_ZIPPED)
    )
    for place, said in there:
        if _to_look_through(place, said) and deepest:
            yield from _in(place, deepest - 1)


def _deep_enough(place: Place, deepest: int) -> bool:
    return place.base.lower().endswith(_BUNDLE) or place.path.count("/") > deepest


def _to_look_through(place: Place, said: Said) -> bool:
    hidden = place.base.startswith(".") or place.base.endswith(_GPUTRACE)
    return said["type"] == "directory" and not said.get("islink") and not hidden


def _is_export(place: Place) -> bool:
    return place.base.lower().endswith(".xml") and bool(_EXPORT.search(place.beginning(_HEAD)))
