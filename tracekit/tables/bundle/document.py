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
from tracekit.tables.bundle.container.keyed import Archive, Value
from tracekit.tables.bundle.errors import ArchiveError, BundleError, called

NAME = "form.template"
_LARGEST = 1 << 26
_RUNS = "com.apple.xray.run.data"
# How far from a run's values a part is looked for: levels, objects, members of one collection.
_NEAR, _MOST_NEAR, _MOST_MEMBERS = 3, 10_000, 100


class RunDocument:
    """What the document says of one run: values by their names, and the archive to follow them."""

    def __init__(self, archive: Archive, values: Mapping[Any, Value]) -> None:
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
                members = found.get("NS.objects")
                parts = members if isinstance(members, list) else list(found.values())
                below += cast("list[Value]", parts[:_MOST_MEMBERS])
            level = below


class Document:
    """The document of a bundle; nothing is read before it is asked for."""

    def __init__(self, files: Files) -> None:
        self._files = files

    @property
    def archive(self) -> Archive | None:
        """The document; None where it is missing or damaged."""
        return self._read[0]

    def run(self, number: int) -> RunDocument | None:
        """Return what it says of a run; None where it says nothing that can be read."""
        if self.archive is None or number not in self.runs:
            return None
        try:
            return RunDocument(self.archive, self.archive.mapping(self.runs[number]))
        except ArchiveError:
            return None

    @cached_property
    def runs(self) -> Mapping[int, Value]:
        """The runs that it names, by number; none where it cannot be read."""
        if self.archive is None:
            return {}
        try:
            return self.archive.numbered(self.archive.part(self.archive.top(_RUNS), "$1"))
        except ArchiveError:
            return {}

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
