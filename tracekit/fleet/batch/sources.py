"""Recordings below folders, patterns and URLs, of this machine, a store or an archive."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import itemgetter
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from fsspec.core import url_to_fs
from fsspec.utils import glob_translate

from tracekit.base import InputError, UsageError

CHAIN = "::"
_SCHEME = re.compile(r"^[A-Za-z][\w+.-]*://")
_MAGIC = re.compile(r"[*?\[]")


def scheme(words: str) -> str:
    """Return how a URL begins, such as "s3://"; nothing for a path."""
    match = _SCHEME.match(words)
    return match.group() if match else ""


def is_pattern(words: str) -> bool:
    """Tell whether words hold wildcards, and name nothing that is there."""
    return bool(_MAGIC.search(words.partition(CHAIN)[0])) and not os.path.lexists(words)


def find_fixed_folder(pattern: str) -> str:
    """Return the folder of a pattern: what comes before the first part with a wildcard."""
    head, chain, later_links = pattern.partition(CHAIN)
    begin = scheme(head)
    parts = head.removeprefix(begin).split("/")
    wildcard_place = next(place for place, part in enumerate(parts) if _MAGIC.search(part))
    folder = "/".join(parts[:wildcard_place])
    if not folder and not begin:
        folder = "/" if head.startswith("/") else "."
    return f"{begin}{folder}{chain}{later_links}"


def join_below(words: str, relative_path: str) -> str:
    """Return the name of what lies below a folder; in a chain the first link is the folder."""
    head, chain, later_links = words.partition(CHAIN)
    if head == ".":
        return relative_path
    separator = "" if head.endswith("/") or not head else "/"
    return f"{head}{separator}{relative_path}{chain}{later_links}"


def hide_secrets(words: str) -> str:
    """Return a path or URL without what may be a secret in it: user, password, query."""
    return CHAIN.join(_without_secrets(link) for link in words.split(CHAIN))


def absolute(words: str) -> str:
    """Return a chain of URLs whose archive, if it is a file of this machine, is named in full."""
    first_link, *links = words.split(CHAIN)
    full_links = [link if scheme(link) else os.path.realpath(link) for link in links]
    return CHAIN.join([first_link, *full_links])


def _without_secrets(link: str) -> str:
    begin = scheme(link)
    if not begin:
        return link
    parts = urlsplit(link)
    host = parts.netloc.rpartition("@")[2]
    query = f"?{parts.query}" if parts.query and "=" not in parts.query else ""  # "?" as wildcard
    path = parts.path if len(parts.path) < 2 else parts.path.rstrip("/")  # noqa: PLR2004
    return f"{begin}{urlunsplit(('', '', f'{host}{path}', '', ''))}{query}"


Said = Mapping[str, Any]


@dataclass(frozen=True)
class SourcePlace:
    """A file or folder: its file system of fsspec, and what it is called there.

    `name` is the path as it was given, or the URL without secrets.
    """

    filesystem: Any
    path: str
    name: str

    @property
    def local(self) -> bool:
        """Whether it lies in a folder of this machine."""
        protocols: str | tuple[str, ...] = self.filesystem.protocol
        return "file" in ((protocols,) if isinstance(protocols, str) else protocols)

    @property
    def identity(self) -> str:
        """The same for whatever words lead to it: the absolute path, or the URL."""
        return os.path.realpath(self.path) if self.local else absolute(self.name)

    @property
    def base(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def list_entries(self) -> list[tuple["SourcePlace", Said]]:
        """Return what lies in this folder, by name, with what the file system says of each."""
        listing: Any = self._query_filesystem("ls", self.path, detail=True)
        places: list[tuple[SourcePlace, Said]] = []
        for entry in sorted(listing, key=itemgetter("name")):
            path = entry["name"].rstrip("/")
            if path != self.path.rstrip("/"):
                name = join_below(self.name, self._make_relative(path))
                places.append((SourcePlace(self.filesystem, path, name), entry))
        return places

    def info(self) -> Said:
        """Return what the file system says of it; raise UsageError where there is nothing."""
        try:
            return cast("Said", self.filesystem.info(self.path))
        except FileNotFoundError:
            raise UsageError(f"{self.name} does not exist.") from None
        except Exception as error:
            raise _unreadable(self.name, error) from error

    def find_files(self) -> dict[str, Said]:
        """Return all files below this folder: path in the folder to what is said of each.

        A file has none.
        """
        listing: Any = self._query_filesystem("find", self.path, detail=True)
        return {
            self._make_relative(str(path)): info
            for path, info in listing.items()
            if path != self.path
        }

    def _make_relative(self, path: str) -> str:
        """Return a listed path from this folder on."""
        folder_path = self.path.rstrip("/")
        prefix = f"{folder_path}/" if folder_path or self.path else ""
        relative_path = path.rstrip("/").removeprefix(prefix)
        leaves = not path.startswith(prefix) or not {"", ".", ".."}.isdisjoint(
            relative_path.split("/")
        )
        if leaves or "\\" in relative_path or "\0" in relative_path:
            raise InputError(
                f"The listing of {self.name} names {path!r}, which is no path below it.",
                hint="Nothing of it was read; look at what made it.",
            )
        return relative_path

    def _query_filesystem(self, question: str, *words: object, **options: object) -> Any:
        try:
            return getattr(self.filesystem, question)(*words, **options)
        except Exception as error:
            raise _unreadable(self.name, error) from error


def forget_listings(filesystem: Any) -> None:
    """Let a file system, and the one that it reads through, look again.

    fsspec has one object for each of them as long as the process lives, and some keep what they
    listed: what another command saw, perhaps of other files.
    """
    while filesystem is not None:
        filesystem.invalidate_cache()
        filesystem = getattr(filesystem, "fs", None)


def place_of(words: str) -> SourcePlace:
    """Return the place that a path or a URL of fsspec names; chains of URLs are understood."""
    try:
        filesystem, path = url_to_fs(words)
        forget_listings(filesystem)
    except ImportError as error:
        raise UsageError(
            f"{scheme(words)} needs a package that is not installed.", hint=f"{error}."
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{hide_secrets(words)} is no source: {error}.",
            hint="Give a path, or a URL as of s3 or gs.",
        ) from error
    except Exception as error:
        raise _unreadable(hide_secrets(words), error) from error
    place = SourcePlace(filesystem, str(path), hide_secrets(words))
    return replace(place, name=words.removeprefix(scheme(words))) if place.local else place


def _unreadable(name: str, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return InputError(
        f"{name} cannot be read: {str(reason).rstrip('.')}.",
        hint="See that it is there, and that you may read it.",
    )


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

    place: SourcePlace
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
        there = self.place.find_files()
        if not there:
            return {self.place.base: self.place.info()}
        if self.form is SourceForm.RUN:
            direct = "exports/direct.json" in there
            return {name: info for name, info in there.items() if _of_a_run(name, direct=direct)}
        if self.form is SourceForm.EXPORTS:
            return {name: info for name, info in there.items() if _EXPORT_NAME.fullmatch(name)}
        return {name: info for name, info in there.items() if _of_a_bundle(name)}

    def stamp(self, settings: str) -> str:
        """Return what changes when a file of it does, or what is asked of it."""
        digest = hashlib.sha256(settings.encode())
        for name, info in sorted(self.files().items()):
            digest.update(_bytes(f"\0{name}\0{info.get('size')}\0{_mark(info)}"))
        return digest.hexdigest()[:_KEY]


def _bytes(name: str) -> bytes:
    """Return a name as bytes, whatever it is: names of files need not be text."""
    return name.encode(errors="surrogatepass")


def _of_a_run(name: str, *, direct: bool) -> bool:
    top, _, inner_path = name.partition("/")
    if top == "recording.trace":
        return direct and _of_a_bundle(inner_path)
    return name in _OF_A_RUN or (top == "exports" and "/" not in inner_path)


def _of_a_bundle(name: str) -> bool:
    return not name.startswith(_NOT_NEEDED) and not name.rpartition("/")[2].startswith("spindex.")


def _mark(info: Said) -> Any:
    return next((info[name] for name in _MARKS if info.get(name) is not None), "")


_DEEPEST = 32
_HEAD = 4096
_EXPORT = re.compile(rb"<trace-(toc|query-result)[\s>/]")
_BUNDLE, _ZIPPED, _GPUTRACE = ".trace", ".trace.zip", ".gputrace"


def sources_of(words: Iterable[str]) -> list[RecordingSource]:
    """Return each recording that paths, patterns and URLs lead to, once, in their order.

    A folder is a run, a bundle, or is looked through for these and for exports. Links to folders
    and hidden folders are not looked through.
    """
    source_words = list(words)
    sources = {source.key: source for word in source_words for source in _find_sources(word)}
    if not sources:
        raise InputError(
            f"There is no recording in {', '.join(source_words)}.",
            hint="A recording is a .trace, a run's folder, or a folder with exports of xctrace.",
        )
    return list(sources.values())


def _find_sources(words: str) -> Iterator[RecordingSource]:
    if not is_pattern(words):
        place = place_of(words)
        yield from _find_at_place(place, place.info())
        return
    path = place_of(words).path
    deepest = _DEEPEST if "**" in path else path.count("/")
    try:
        pattern = re.compile(glob_translate(path))
    except ValueError as error:
        raise UsageError(
            f"{words} is no pattern: {error}.", hint="Write folder/**/*.trace."
        ) from error
    for place, info in _matching(place_of(find_fixed_folder(words)), pattern, deepest):
        yield from _find_at_place(place, info, strict=False)


def _matching(
    folder: SourcePlace, pattern: re.Pattern[str], deepest: int
) -> Iterator[tuple[SourcePlace, Said]]:
    for place, info in folder.list_entries():
        if pattern.match(place.path):
            yield place, info
        elif (
            _to_look_through(place, info)
            and place.path.count("/") <= deepest
            and not place.base.lower().endswith(_BUNDLE)
        ):
            yield from _matching(place, pattern, deepest)


def _find_at_place(
    place: SourcePlace, info: Said, *, strict: bool = True
) -> Iterator[RecordingSource]:
    """Yield what a name stands for; of what a pattern matches, other files are passed over."""
    if info["type"] == "directory":
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


def _in(folder: SourcePlace, deepest: int) -> Iterator[RecordingSource]:
    there = folder.list_entries()
    if any(place.base == "recording.json" for place, _ in there):
        yield RecordingSource(folder, SourceForm.RUN)
        return
    if folder.base.lower().endswith(_BUNDLE):
        yield RecordingSource(folder, SourceForm.BUNDLE)
        return
    files = [place for place, info in there if info["type"] == "file"]
    if any(_holds_an_export(place) for place in files):
        yield RecordingSource(folder, SourceForm.EXPORTS)
    yield from (
        RecordingSource(place, SourceForm.ZIPPED)
        for place in files
        if place.base.lower().endswith(_ZIPPED)
    )
    for place, info in there:
        if _to_look_through(place, info) and deepest:
            yield from _in(place, deepest - 1)


def _to_look_through(place: SourcePlace, info: Said) -> bool:
    hidden = place.base.startswith(".") or place.base.endswith(_GPUTRACE)
    return info["type"] == "directory" and not info.get("islink") and not hidden


def _holds_an_export(place: SourcePlace) -> bool:
    if not place.base.lower().endswith(".xml"):
        return False
    # File systems raise what they like.
    with suppress(Exception), place.filesystem.open(place.path, "rb") as file:
        return bool(_EXPORT.search(file.read(_HEAD)))
    return False
