"""A bundle as it stands in a folder: its runs, their tables, the texts and arrays of each run."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tracekit.errors import InputError
from tracekit.tables.bundle.about.document import Document
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, plist
from tracekit.tables.bundle.container.requirements import TYPE_SUFFIX, Requirements, requirements
from tracekit.tables.bundle.container.store import (
    Store,
    Unreadable,
    read_spec,
    read_store,
    run_folder,
)
from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import BundleError, unknown

_LARGEST = 1 << 30
_MOST_STORES = 10_000


class BundleRun:
    """One run of a bundle. Texts, types and arrays are read when the first is asked for."""

    def __init__(
        self, files: Files, number: int, required: Requirements, document: Document
    ) -> None:
        """Take the run of that number, without reading it."""
        self.files = files
        self.document = document
        self.number = number
        self.required = required
        uniquing = f"{run_folder(number)}/uniquing"
        self.arrays = Arrays(files, f"{uniquing}/arrayUniquer")
        self.typed_arrays = Arrays(files, f"{uniquing}/typedArrayUniquer")
        self._uniquing = uniquing

    @cached_property
    def tables(self) -> tuple[Store | Unreadable, ...]:
        """All tables, in the order of the numbers of their stores.

        Raises:
            BundleError: The run has no folder of stores.
        """
        folder = f"{run_folder(self.number)}/stores"
        numbers = self.files.numbered(folder, "indexed-store-")
        if len(numbers) > _MOST_STORES:
            raise self.files.damaged(folder, f"holds more than {_MOST_STORES:,} tables")
        return tuple(self._table(number) for number in numbers)

    @property
    def stores(self) -> tuple[Store, ...]:
        """The tables that can be read."""
        return tuple(one for one in self.tables if isinstance(one, Store))

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence on each table so damaged that not even its schema is known."""
        nameless = (one for one in self.tables if isinstance(one, Unreadable) and not one.schema)
        return tuple(
            f"Store {one.number} of run {self.number} is left out: {one.why}" for one in nameless
        )

    @cached_property
    def strings(self) -> Sequence[str]:
        """The texts that cells name by number; raise BundleError if they are damaged."""
        name = f"{self._uniquing}/strings"
        try:
            found = plist(self.files.read(name, _LARGEST))
        except ArchiveError as error:
            raise self.files.damaged(name, str(error)) from error
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.files.damaged(name, "is no list of texts")
        return found

    @cached_property
    def types(self) -> Sequence[str]:
        """The types that parts of labels name by number, without "TypeID".

        Raises:
            BundleError: They are damaged.
        """
        name = f"{self._uniquing}/EngineeringTypes.etypes"
        try:
            archive = Archive(self.files.read(name, _LARGEST))
            found = [archive.plain(one) for one in archive.sequence(archive.root)]
        except ArchiveError as error:
            raise self.files.damaged(name, str(error)) from error
        if not all(isinstance(one, str) for one in found):
            raise self.files.damaged(name, "is no list of types")
        return [one.removesuffix(TYPE_SUFFIX) for one in found]

    def _table(self, number: int) -> Store | Unreadable:
        try:
            return read_store(self.files, self.number, number)
        except BundleError as error:
            why = error.message
        try:
            schema, attributes = read_spec(self.files, self.number, number)
        except BundleError:
            return Unreadable(self.number, number, why)
        return Unreadable(self.number, number, why, schema, attributes)


class Bundle:
    """A `.trace` bundle of Xcode 12 or later, read without Instruments."""

    def __init__(self, path: Path) -> None:
        """Open a bundle, and check that it is one of those that are known.

        Raises:
            InputError: It is no bundle.
            UnknownBundleError: Its layout is not known.
            BundleError: What says so is damaged.
        """
        if not path.is_dir():
            raise InputError(f"{path} is no bundle: it is not a folder.")
        self.path = path
        self.files = Files(path)
        self.required = requirements(self.files)
        if not self.files.exists("corespace"):
            raise unknown(path, "it has no corespace, where its tables would be")
        runs = [n for n in self.files.numbered("corespace", "run") if n > 0]
        if not runs:
            raise unknown(path, "it has no run: nothing was recorded, or it was not saved")
        self.document = Document(self.files)
        self.runs = tuple(
            BundleRun(self.files, number, self.required, self.document) for number in runs
        )
