"""Recordings below folders, patterns and URLs: where each lies, and in which form."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fsspec.utils import glob_translate

from tracekit.base import InputError, UsageError
from tracekit.fleet.batch.places import Place, Said, fixed, is_pattern, place_of

_EXPORT_NAME = re.compile(r"[^/]*\.(?:xml|parquet)", re.IGNORECASE | re.DOTALL)
_KEY = 24  # letters of a digest: 96 bits
_NOT_NEEDED = ("instrument_data/", "shared_data/", "UI_state_metadata.bin")
_OF_A_RUN = {"recording.json", "workload.json", "workload.jsonl", "gauges.jsonl"}
_MARKS = ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "CRC", "created")


class SourceForm(StrEnum):
    """In which form a recording comes."""

    RUN = "run"
    BUNDLE = "bundle"
    ZIPPED = "zipped bundle"
    EXPORTS = "exports"


@dataclass(frozen=True)
class RecordingSource:
    """A recording: `place` is a folder, or a file for a zipped bundle and a single export."""

    place: Place
    form: SourceForm

    @property
    def key(self) -> str:
        """What its results are called by, the same however it was named."""
        return hashlib.sha256(_bytes(self.place.identity)).hexdigest()[:_KEY]

    def files(self) -> Mapping[str, Said]:
        """Return the files that an analysis needs, by their paths in the folder.

        Of a bundle these are not what keeps windows and views of Instruments, nor indexes of
        its stores (layout: docs/explanation/trace-bundles.md).
        """
        there = self.place.below()
        if not there:
            return {self.place.base: self.place.info()}
        if self.form is SourceForm.RUN:
            direct = "exports/direct.json" in there
            return {name: said for name, said in there.items() if _of_a_run(name, direct=direct)}
        if self.form is SourceForm.EXPORTS:
            return {name: said for name, said in there.items() if _EXPORT_NAME.fullmatch(name)}
        return {name: said for name, said in there.items() if _of_a_bundle(name)}

    def stamp(self, settings: str) -> str:
        """Return what changes when a file of it does, or what is asked of it."""
        digest = hashlib.sha256(settings.encode())
        for name, said in sorted(self.files().items()):
            digest.update(_bytes(f"\0{name}\0{said.get('size')}\0{_mark(said)}"))
        return digest.hexdigest()[:_KEY]


def _bytes(name: str) -> bytes:
    """Return a name as bytes, whatever it is: names of files need not be text."""
    return name.encode(errors="surrogatepass")


def _of_a_run(name: str, *, direct: bool) -> bool:
    top, _, rest = name.partition("/")
    if top == "recording.trace":
        return direct and _of_a_bundle(rest)
    return name in _OF_A_RUN or (top == "exports" and "/" not in rest)


def _of_a_bundle(name: str) -> bool:
    return not name.startswith(_NOT_NEEDED) and not name.rpartition("/")[2].startswith("spindex.")


def _mark(said: Said) -> Any:
    return next((said[name] for name in _MARKS if said.get(name) is not None), "")


_DEEPEST = 32
_HEAD = 4096
_EXPORT = re.compile(rb"<trace-(toc|query-result)[\s>/]")
_BUNDLE, _ZIPPED, _GPUTRACE = ".trace", ".trace.zip", ".gputrace"


def sources_of(words: Iterable[str]) -> list[RecordingSource]:
    """Return each recording that paths, patterns and URLs lead to, once, in their order.

    A folder is a run, a bundle, or is looked through for these and for exports. Links to folders
    and hidden folders are not looked through.
    """
    asked = list(words)
    found = {source.key: source for each in asked for source in _of(each)}
    if not found:
        raise InputError(
            f"There is no recording in {', '.join(asked)}.",
            hint="A recording is a .trace, a run's folder, or a folder with exports of xctrace.",
        )
    return list(found.values())


def _of(words: str) -> Iterator[RecordingSource]:
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
        elif (
            _to_look_through(place, said)
            and place.path.count("/") <= deepest
            and not place.base.lower().endswith(_BUNDLE)
        ):
            yield from _matching(place, pattern, deepest)


def _named(place: Place, said: Said, *, strict: bool = True) -> Iterator[RecordingSource]:
    """Yield what a name stands for; of what a pattern matches, other files are passed over."""
    if said["type"] == "directory":
        yield from _in(place, _DEEPEST)
    elif place.base.lower().endswith(_ZIPPED):
        yield RecordingSource(place, SourceForm.ZIPPED)
    elif place.base.lower().endswith(".xml") and (strict or _holds_an_export(place)):
        yield RecordingSource(place, SourceForm.EXPORTS)
    elif strict:
        raise UsageError(
            f"{place.name} is no recording.",
            hint="Name a .trace, a .trace.zip, a run's folder or one with exports.",
        )


def _in(folder: Place, deepest: int) -> Iterator[RecordingSource]:
    there = folder.listed()
    if any(place.base == "recording.json" for place, _ in there):
        yield RecordingSource(folder, SourceForm.RUN)
        return
    if folder.base.lower().endswith(_BUNDLE):
        yield RecordingSource(folder, SourceForm.BUNDLE)
        return
    files = [place for place, said in there if said["type"] == "file"]
    if any(_holds_an_export(place) for place in files):
        yield RecordingSource(folder, SourceForm.EXPORTS)
    yield from (
        RecordingSource(place, SourceForm.ZIPPED)
        for place in files
        if place.base.lower().endswith(_ZIPPED)
    )
    for place, said in there:
        if _to_look_through(place, said) and deepest:
            yield from _in(place, deepest - 1)


def _to_look_through(place: Place, said: Said) -> bool:
    hidden = place.base.startswith(".") or place.base.endswith(_GPUTRACE)
    return said["type"] == "directory" and not said.get("islink") and not hidden


def _holds_an_export(place: Place) -> bool:
    return place.base.lower().endswith(".xml") and bool(_EXPORT.search(place.beginning(_HEAD)))
