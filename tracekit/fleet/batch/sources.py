"""Recordings below folders, patterns and URLs, of this machine, a store or an archive."""
# ruff: noqa: PLC0415 - fsspec is of an extra, and only a batch that runs needs it

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

from tracekit.base import InputError, UsageError, distribution

CHAIN = "::"
_SCHEME = re.compile(r"^[A-Za-z][\w+.-]*://")
_MAGIC = re.compile(r"[*?\[]")


def scheme(words: str) -> str:
    """Return the beginning of a URL, such as "s3://"; nothing for a path."""
    match = _SCHEME.match(words)
    if match is None:
        return ""
    return match.group()


def is_pattern(words: str) -> bool:
    """Tell whether words contain wildcards, and are not the name of a file or folder."""
    first_link = words.partition(CHAIN)[0]
    has_pattern = bool(_MAGIC.search(first_link))
    return has_pattern and not os.path.lexists(words)


def find_fixed_folder(pattern: str) -> str:
    """Return the folder of a pattern: the parts before the first one with a wildcard."""
    head, chain, later_links = pattern.partition(CHAIN)
    begin = scheme(head)
    parts = head.removeprefix(begin).split("/")
    wildcard_places = (place for place, part in enumerate(parts) if _MAGIC.search(part))
    wildcard_place = next(wildcard_places)
    folder = "/".join(parts[:wildcard_place])
    if not folder and not begin:
        folder = "/" if head.startswith("/") else "."
    return f"{begin}{folder}{chain}{later_links}"


def join_below(words: str, relative_path: str) -> str:
    """Return the name of a file below a folder; in a chain the first link is the folder."""
    head, chain, later_links = words.partition(CHAIN)
    if head == ".":
        return relative_path
    if head and not head.endswith("/"):
        head += "/"
    return f"{head}{relative_path}{chain}{later_links}"


def hide_secrets(words: str) -> str:
    """Return a path or URL without its possible secrets: user, password, query."""
    links = [_without_secrets(link) for link in words.split(CHAIN)]
    return CHAIN.join(links)


def absolute(words: str) -> str:
    """Return a chain of URLs with the full path of its archive, if that is a local file."""
    full_links = words.split(CHAIN)
    for number, link in enumerate(full_links):
        if number > 0 and not scheme(link):
            full_links[number] = os.path.realpath(link)
    return CHAIN.join(full_links)


def _without_secrets(link: str) -> str:
    begin = scheme(link)
    if not begin:
        return link
    parts = urlsplit(link)
    host = parts.netloc.rpartition("@")[2]
    query = ""
    if parts.query and "=" not in parts.query:  # the "?" is a wildcard
        query = f"?{parts.query}"
    path = parts.path
    if path != "/":
        path = path.rstrip("/")
    clean_link = urlunsplit(("", "", f"{host}{path}", "", ""))
    return f"{begin}{clean_link}{query}"


Said = Mapping[str, Any]


@dataclass(frozen=True)
class SourcePlace:
    """A file or folder: its file system of fsspec, and its path there.

    `name` is the path as it was given, or the URL without secrets.
    """

    filesystem: Any
    path: str
    name: str

    @property
    def local(self) -> bool:
        """Whether it lies in a folder of this machine."""
        protocols: str | tuple[str, ...] = self.filesystem.protocol
        if isinstance(protocols, str):
            return protocols == "file"
        return "file" in protocols

    @property
    def identity(self) -> str:
        """The absolute path, or the URL: the same however the place was named."""
        if self.local:
            return os.path.realpath(self.path)
        return absolute(self.name)

    @property
    def base(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def list_entries(self) -> list[tuple["SourcePlace", Said]]:
        """Return the entries of this folder, by name, with the file system's info on each."""
        listing: Any = self._query_filesystem("ls", self.path, detail=True)
        places: list[tuple[SourcePlace, Said]] = []
        for entry in sorted(listing, key=itemgetter("name")):
            path = entry["name"].rstrip("/")
            if path != self.path.rstrip("/"):
                name = join_below(self.name, self._make_relative(path))
                place = SourcePlace(self.filesystem, path, name)
                places.append((place, entry))
        return places

    def info(self) -> Said:
        """Return the file system's info on it; raise UsageError if it does not exist."""
        try:
            return cast("Said", self.filesystem.info(self.path))
        except FileNotFoundError:
            raise UsageError(f"{self.name} does not exist.") from None
        except Exception as error:
            raise _unreadable(self.name, error) from error

    def find_files(self) -> dict[str, Said]:
        """Return the file system's info on all files below this folder, by their paths in it.

        A file has none.
        """
        listing: Any = self._query_filesystem("find", self.path, detail=True)
        files: dict[str, Said] = {}
        for path, info in listing.items():
            if path != self.path:
                relative_path = self._make_relative(str(path))
                files[relative_path] = info
        return files

    def _make_relative(self, path: str) -> str:
        """Return a listed path relative to this folder."""
        prefix = self.path
        if prefix:
            prefix = f"{prefix.rstrip('/')}/"
        relative_path = path.rstrip("/").removeprefix(prefix)
        leaves = not path.startswith(prefix)
        for part in relative_path.split("/"):
            leaves = leaves or part in {"", ".", ".."}
        if leaves or "\\" in relative_path or "\0" in relative_path:
            raise InputError(
                f"The listing of {self.name} names {path!r}, which is not a path below it.",
                hint="Nothing of it was read; check the program that made it.",
            )
        return relative_path

    def _query_filesystem(self, question: str, *words: object, **options: object) -> Any:
        try:
            return getattr(self.filesystem, question)(*words, **options)
        except Exception as error:
            raise _unreadable(self.name, error) from error


def forget_listings(filesystem: Any) -> None:
    """Make a file system, and the one that it reads through, list files again.

    fsspec has one object for each of them as long as the process lives, and some keep listings,
    which may be of an earlier command and of other files.
    """
    while filesystem is not None:
        filesystem.invalidate_cache()
        filesystem = getattr(filesystem, "fs", None)


def place_of(words: str) -> SourcePlace:
    """Return the place that a path or a URL of fsspec names; chains of URLs are understood."""
    from fsspec.core import url_to_fs

    try:
        filesystem, path = url_to_fs(words)
        forget_listings(filesystem)
    except ImportError as error:
        raise UsageError(
            f"{scheme(words)} needs a package that is not installed.",
            hint=_advise_on_packages(words, error),
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{hide_secrets(words)} is not a source: {error}.",
            hint="Give a path, or a URL as of s3 or gs.",
        ) from error
    except Exception as error:
        raise _unreadable(hide_secrets(words), error) from error
    place = SourcePlace(filesystem, str(path), hide_secrets(words))
    if place.local:
        return replace(place, name=words.removeprefix(scheme(words)))
    return place


# The packages by which fsspec reads places, by the most common schemes.
_PACKAGES = {
    "http": ("aiohttp", "requests"),
    "https": ("aiohttp", "requests"),
    "s3": ("s3fs",),
    "gs": ("gcsfs",),
    "az": ("adlfs",),
    "sftp": ("paramiko",),
}


def _advise_on_packages(words: str, error: ImportError) -> str:
    """Return the command that installs the packages for a URL, or else the words of fsspec."""
    name = scheme(words.rpartition(CHAIN)[2]).partition(":")[0]
    if name not in _PACKAGES:
        return f"{str(error).rstrip('.')}."
    installation = distribution.find_installation()
    command = distribution.install_packages_command(_PACKAGES[name], installation)
    return f"Install it: {command}"


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
    """The form of a recording."""

    RUN = "run"
    BUNDLE = "bundle"
    ZIPPED = "zipped bundle"
    CAPTURE = "capture"
    EXPORTS = "exports"


@dataclass(frozen=True)
class RecordingSource:
    """A recording: `place` is a folder, or a file for a zipped bundle and a single export."""

    place: SourcePlace
    form: SourceForm

    @property
    def key(self) -> str:
        """The digest by which its results are named, the same however it was named."""
        full_digest = hashlib.sha256(_bytes(self.place.identity)).hexdigest()
        return full_digest[:_KEY]

    def files(self) -> Mapping[str, Said]:
        """Return the files that an analysis needs, by their paths in the folder.

        A bundle's state of windows and views of Instruments, and the indexes of its stores, are
        left out (layout: docs/explanation/trace-bundles.md).
        """
        files = self.place.find_files()
        if not files:
            return {self.place.base: self.place.info()}
        direct = "exports/direct.json" in files
        return {name: info for name, info in files.items() if self._needs(name, direct=direct)}

    def _needs(self, name: str, *, direct: bool) -> bool:
        """Tell whether an analysis needs a file; `direct` if the run's bundle is read itself."""
        if self.form is SourceForm.RUN:
            return _of_a_run(name, direct=direct)
        if self.form is SourceForm.CAPTURE:
            return True
        if self.form is SourceForm.EXPORTS:
            return _EXPORT_NAME.fullmatch(name) is not None
        return _of_a_bundle(name)

    def stamp(self, settings: str) -> str:
        """Return a digest that changes with the files and with the settings of the batch."""
        digest = hashlib.sha256(settings.encode())
        for name, info in sorted(self.files().items()):
            facts = ("", name, str(info.get("size")), str(_mark(info)))
            digest.update(_bytes("\0".join(facts)))
        return digest.hexdigest()[:_KEY]


def _bytes(name: str) -> bytes:
    """Return a name as bytes: names of files need not be valid text."""
    return name.encode(errors="surrogatepass")


def _of_a_run(name: str, *, direct: bool) -> bool:
    top, _, inner_path = name.partition("/")
    if top == "recording.trace":
        return direct and _of_a_bundle(inner_path)
    if top == "capture.gputrace":
        return True
    return name in _OF_A_RUN or (top == "exports" and "/" not in inner_path)


def _of_a_bundle(name: str) -> bool:
    return not name.startswith(_NOT_NEEDED) and not name.rpartition("/")[2].startswith("spindex.")


def _mark(info: Said) -> Any:
    """Return the first fact that changes when a file does; empty if there is none."""
    for name in _MARKS:
        mark = info.get(name)
        if mark is not None:
            return mark
    return ""


_DEEPEST = 32
_HEAD = 4096
_EXPORT = re.compile(rb"<trace-(toc|query-result)[\s>/]")
_BUNDLE = ".trace"
_CAPTURE = ".gputrace"
_FOLDERS = (_BUNDLE, _CAPTURE)
_ZIPPED = (".trace.zip", ".gputrace.zip")


def sources_of(words: Iterable[str]) -> list[RecordingSource]:
    """Return each recording that paths, patterns and URLs lead to, once, in their order.

    A folder is a run, a bundle, a GPU frame capture, or is searched for these and for exports.
    Links to folders and hidden folders are not searched.
    """
    source_words = list(words)
    sources: dict[str, RecordingSource] = {}
    for word in source_words:
        for source in _find_sources(word):
            sources[source.key] = source
    if not sources:
        raise InputError(
            f"There is no recording in {', '.join(source_words)}.",
            hint="A recording is a .trace or .gputrace, a run's folder, or one with exports.",
        )
    return list(sources.values())


def _find_sources(words: str) -> Iterator[RecordingSource]:
    if not is_pattern(words):
        place = place_of(words)
        yield from _find_at_place(place, place.info())
        return
    from fsspec.utils import glob_translate

    path = place_of(words).path
    deepest = path.count("/")
    if "**" in path:
        deepest = _DEEPEST
    try:
        pattern = re.compile(glob_translate(path))
    except ValueError as error:
        raise UsageError(
            f"{words} is not a pattern: {error}.", hint="Write folder/**/*.trace."
        ) from error
    matching_entries = _matching(place_of(find_fixed_folder(words)), pattern, deepest)
    for place, info in matching_entries:
        yield from _find_at_place(place, info, strict=False)


def _matching(
    folder: SourcePlace, pattern: re.Pattern[str], deepest: int
) -> Iterator[tuple[SourcePlace, Said]]:
    for place, info in folder.list_entries():
        if pattern.match(place.path):
            yield place, info
            continue
        is_bundle = place.base.lower().endswith(_FOLDERS)
        if is_bundle or place.path.count("/") > deepest:
            continue
        if _to_look_through(place, info):
            yield from _matching(place, pattern, deepest)


def _find_at_place(
    place: SourcePlace, info: Said, *, strict: bool = True
) -> Iterator[RecordingSource]:
    """Yield the recordings of a name; unless `strict`, files that are none are passed over."""
    if info["type"] == "directory":
        yield from _in(place, _DEEPEST)
    elif place.base.lower().endswith(_ZIPPED):
        yield RecordingSource(place, SourceForm.ZIPPED)
    elif place.base.lower().endswith(".xml") and (strict or _holds_an_export(place)):
        yield RecordingSource(place, SourceForm.EXPORTS)
    elif strict:
        raise UsageError(
            f"{place.name} is not a recording.",
            hint="Name a .trace or .gputrace, its zip file, a run's folder or one with exports.",
        )


def _in(folder: SourcePlace, deepest: int) -> Iterator[RecordingSource]:
    entries = folder.list_entries()
    are_runs = [place.base == "recording.json" for place, _ in entries]
    if any(are_runs):
        yield RecordingSource(folder, SourceForm.RUN)
        return
    if folder.base.lower().endswith(_BUNDLE):
        yield RecordingSource(folder, SourceForm.BUNDLE)
        return
    if folder.base.lower().endswith(_CAPTURE):
        yield RecordingSource(folder, SourceForm.CAPTURE)
        return
    files = [place for place, info in entries if info["type"] == "file"]
    if any(_holds_an_export(place) for place in files):
        yield RecordingSource(folder, SourceForm.EXPORTS)
    for place in files:
        if place.base.lower().endswith(_ZIPPED):
            yield RecordingSource(place, SourceForm.ZIPPED)
    for place, info in entries:
        if _to_look_through(place, info) and deepest:
            yield from _in(place, deepest - 1)


def _to_look_through(place: SourcePlace, info: Said) -> bool:
    hidden = place.base.startswith(".")
    return info["type"] == "directory" and not info.get("islink") and not hidden


def _holds_an_export(place: SourcePlace) -> bool:
    if not place.base.lower().endswith(".xml"):
        return False
    # File systems raise errors of any class.
    with suppress(Exception), place.filesystem.open(place.path, "rb") as file:
        return bool(_EXPORT.search(file.read(_HEAD)))
    return False
