"""The document of a bundle, `form.template`: how its runs went, and names in them.

Layout: docs/explanation/trace-bundles.md. It is a keyed archive of megabytes, read when something
in it is first asked for, and by key alone. Bundles are often passed on without it, so that it is
missing or damaged is no error: `why` tells, and who asks has another way.
"""

import gc
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, Value
from tracekit.tables.bundle.errors import BundleError, called

NAME = "form.template"
_LARGEST = 1 << 26
_RUNS = "com.apple.xray.run.data"
# How far from a run's values a part is looked for: levels, objects, members of one collection.
_NEAR, _MOST_NEAR, _MOST_MEMBERS = 3, 10_000, 100


class RunDocument:
    """What the document says of one run: values by their names, and the archive to follow them."""

    def __init__(self, archive: Archive, values: Mapping[Any, Value]) -> None:
        """Take the values of a run, as they stand in the archive."""
        self.archive = archive
        self._values = values

    def get(self, name: str) -> Value:
        """Return a value; None where there is none."""
        return self.archive.at(self._values.get(name))

    def nearby(self, name: str) -> Iterator[Value]:
        """Yield the run's own value of that name, and the parts of that name just below."""
        if name in self._values:
            yield self.get(name)
        level, seen = [*self._values.values()], set[int]()
        for _ in range(_NEAR):
            below: list[Value] = []
            for value in level:
                found = self.archive.at(value)
                if not isinstance(found, Mapping) or id(found) in seen or len(seen) >= _MOST_NEAR:
                    continue
                seen.add(id(found))
                if name in found:
                    yield self.archive.at(found[name])
                below += _parts(found)
            level = below


class Document:
    """The document of a bundle; nothing is read before it is asked for."""

    def __init__(self, files: Files) -> None:
        """Take the bundle's files."""
        self._files = files

    @property
    def archive(self) -> Archive | None:
        """The document; None where it is missing or damaged."""
        return self._read[0]

    def run(self, number: int) -> RunDocument | None:
        """Return what it says of a run; None where it says nothing that can be read."""
        if self.archive is None:
            return None
        try:
            runs = entries(self.archive, self.archive.part(self.archive.top(_RUNS), "$1"))
            found = by_number(runs).get(number)
            values = None if found is None else entries(self.archive, found)
        except ArchiveError:
            return None
        return None if values is None else RunDocument(self.archive, values)

    @property
    def runs(self) -> frozenset[int]:
        """The numbers of the runs that it names; none where it cannot be read."""
        if self.archive is None:
            return frozenset()
        try:
            runs = entries(self.archive, self.archive.part(self.archive.top(_RUNS), "$1"))
        except ArchiveError:
            return frozenset()
        return frozenset(by_number(runs))

    def why_not(self, number: int) -> str:
        """Say, for the end of a sentence, why it says nothing of a run; empty where it does."""
        if self.run(number) is not None:
            return ""
        return self._read[1] or f"the {NAME} of {called(self._files.bundle)} says nothing of it"

    @cached_property
    def _read(self) -> tuple[Archive | None, str]:
        bundle = called(self._files.bundle)
        if not self._files.exists(NAME):
            return None, f"{bundle} has no {NAME}"
        try:
            content = self._files.read(NAME, _LARGEST)
            with _without_collecting():
                return Archive(content), ""
        except ArchiveError as error:
            return None, f"the {NAME} of {bundle} {error}"
        except BundleError as error:
            return None, error.message.removesuffix(".")


def _parts(node: Mapping[str, Value]) -> list[Value]:
    members = node.get("NS.objects")
    parts = members if isinstance(members, list) else list(node.values())
    return cast("list[Value]", parts[:_MOST_MEMBERS])


@contextmanager
def _without_collecting() -> Generator[None]:
    """Keep the collector from looking through a growing archive again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def entries(archive: Archive, node: Value) -> dict[Any, Value]:
    """Return an archived dictionary of either kind; raise ArchiveError if it is none."""
    found = archive.at(node)
    if isinstance(found, Mapping) and "NS.keys" not in found and "$0" in found:
        return dict(archive.by_number(found))
    return archive.mapping(found)


def by_number(values: Mapping[Any, Value]) -> dict[int, Value]:
    """Return values by keys that are numbers, or say one."""
    numbered: dict[int, Value] = {}
    for key, value in values.items():
        if isinstance(key, int):
            numbered[key] = value
        elif isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) < 10:  # noqa: PLR2004
            numbered[int(key)] = value
    return numbered
