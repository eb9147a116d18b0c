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
    found = _SCHEME.match(words)
    return found.group() if found else ""


def is_pattern(words: str) -> bool:
    """Tell whether words hold wildcards, and name nothing that is there."""
    return bool(_MAGIC.search(words.partition(CHAIN)[0])) and not os.path.lexists(words)


def fixed(pattern: str) -> str:
    """Return the folder of a pattern: what comes before the first part with a wildcard."""
    head, chain, rest = pattern.partition(CHAIN)
    begin = scheme(head)
    parts = head.removeprefix(begin).split("/")
    plain = next(place for place, part in enumerate(parts) if _MAGIC.search(part))
    folder = "/".join(parts[:plain])
    if not folder and not begin:
        folder = "/" if head.startswith("/") else "."
    return f"{begin}{folder}{chain}{rest}"


def joined(words: str, below: str) -> str:
    """Return the name of what lies below a folder; in a chain the first link is the folder."""
    head, chain, rest = words.partition(CHAIN)
    if head == ".":
        return below
    between = "" if head.endswith("/") or not head else "/"
    return f"{head}{between}{below}{chain}{rest}"


def shown(words: str) -> str:
    """Return a path or URL without what may be a secret in it: user, password, query."""
    return CHAIN.join(_without_secrets(link) for link in words.split(CHAIN))


def absolute(words: str) -> str:
    """Return a chain of URLs whose archive, if it is a file of this machine, is named in full."""
    first, *links = words.split(CHAIN)
    rest = [link if scheme(link) else os.path.realpath(link) for link in links]
    return CHAIN.join([first, *rest])


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
        named: str | tuple[str, ...] = self.filesystem.protocol
        return "file" in ((named,) if isinstance(named, str) else named)

    @property
    def identity(self) -> str:
        """The same for whatever words lead to it: the absolute path, or the URL."""
        return os.path.realpath(self.path) if self.local else absolute(self.name)

    @property
    def base(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def listed(self) -> list[tuple["SourcePlace", Said]]:
        """Return what lies in this folder, by name, with what the file system says of each."""
        said: Any = self._asked("ls", self.path, detail=True)
        found: list[tuple[SourcePlace, Said]] = []
        for entry in sorted(said, key=itemgetter("name")):
            path = entry["name"].rstrip("/")
            if path != self.path.rstrip("/"):
                name = joined(self.name, self._below(path))
                found.append((SourcePlace(self.filesystem, path, name), entry))
        return found

    def info(self) -> Said:
        """Return what the file system says of it; raise UsageError where there is nothing."""
        try:
            return cast("Said", self.filesystem.info(self.path))
        except FileNotFoundError:
            raise UsageError(f"{self.name} does not exist.") from None
        except Exception as error:
            raise _unreadable(self.name, error) from error

    def below(self) -> dict[str, Said]:
        """Return all files below this folder: path in the folder to what is said of each.

        A file has none.
        """
        found: Any = self._asked("find", self.path, detail=True)
        return {self._below(str(path)): said for path, said in found.items() if path != self.path}

    def _below(self, path: str) -> str:
        """Return a listed path from this folder on."""
        own = self.path.rstrip("/")
        inside = f"{own}/" if own or self.path else ""
        below = path.rstrip("/").removeprefix(inside)
        leaves = not path.startswith(inside) or not {"", ".", ".."}.isdisjoint(below.split("/"))
        if leaves or "\\" in below or "\0" in below:
            raise InputError(
                f"The listing of {self.name} names {path!r}, which is no path below it.",
                hint="Nothing of it was read; look at what made it.",
            )
        return below

    def _asked(self, question: str, *words: object, **options: object) -> Any:
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
        filesystem, found = url_to_fs(words)
        forget_listings(filesystem)
    except ImportError as error:
        raise UsageError(
            f"{scheme(words)} needs a package that is not installed.", hint=f"{error}."
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{shown(words)} is no source: {error}.", hint="Give a path, or a URL as of s3 or gs."
        ) from error
    except Exception as error:
        raise _unreadable(shown(words), error) from error
    place = SourcePlace(filesystem, str(found), shown(words))
    return replace(place, name=words.removeprefix(scheme(words))) if place.local else place


def _unreadable(name: str, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return InputError(
        f"{name} cannot be read: {str(why).rstrip('.')}.",
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
    folder: SourcePlace, pattern: re.Pattern[str], deepest: int
) -> Iterator[tuple[SourcePlace, Said]]:
    for place, said in folder.listed():
        if pattern.match(place.path):
            yield place, said
        elif (
            _to_look_through(place, said)
            and place.path.count("/") <= deepest
            and not place.base.lower().endswith(_BUNDLE)
        ):
            yield from _matching(place, pattern, deepest)


def _named(place: SourcePlace, said: Said, *, strict: bool = True) -> Iterator[RecordingSource]:
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


def _in(folder: SourcePlace, deepest: int) -> Iterator[RecordingSource]:
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


def _to_look_through(place: SourcePlace, said: Said) -> bool:
    hidden = place.base.startswith(".") or place.base.endswith(_GPUTRACE)
    return said["type"] == "directory" and not said.get("islink") and not hidden


def _holds_an_export(place: SourcePlace) -> bool:
    if not place.base.lower().endswith(".xml"):
        return False
    # File systems raise what they like.
    with suppress(Exception), place.filesystem.open(place.path, "rb") as file:
        return bool(_EXPORT.search(file.read(_HEAD)))
    return False
