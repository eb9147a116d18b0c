"""A bundle as it stands in a folder: its runs, their tables, the texts and arrays of each run."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tracekit.base import InputError
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, plist
from tracekit.tables.bundle.container.requirements import TYPE_SUFFIX, Requirements, requirements
from tracekit.tables.bundle.container.store import (
    Spec,
    TableStore,
    Unreadable,
    listed_stores,
    read_spec,
    read_store,
    run_folder,
    same_table,
    store_folder,
    table_list,
)
from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import (
    WAY_OUT,
    ArchiveError,
    BundleError,
    ReadOnce,
    name_bundle,
    unknown,
)
from tracekit.tables.bundle.names import BundleDocument, Names, gather_names
from tracekit.tables.losses import Flaw, Loss

_LARGEST = 1 << 30
_MOST_STORES = 10_000


class BundleRun:
    """One run of a bundle. Texts, types and arrays are read when the first is asked for."""

    def __init__(
        self, files: Files, number: int, required: Requirements, document: BundleDocument
    ) -> None:
        self.files = files
        self.document = document
        self.number = number
        self.required = required
        uniquing = f"{run_folder(number)}/uniquing"
        self.arrays = Arrays(files, f"{uniquing}/arrayUniquer")
        self.typed_arrays = Arrays(files, f"{uniquing}/typedArrayUniquer")
        self._uniquing = uniquing

    @ReadOnce
    def tables(self) -> tuple[TableStore | Unreadable, ...]:
        """All tables, in the order of the numbers of their stores, those that are missing too."""
        folder = f"{run_folder(self.number)}/stores"
        numbers = {*self.files.list_numbers(folder, "indexed-store-"), *self._list[0]}
        if len(numbers) > _MOST_STORES:
            raise self.files.make_damage_error(folder, f"holds more than {_MOST_STORES:,} tables")
        return tuple(self._table(number) for number in sorted(numbers))

    @property
    def stores(self) -> tuple[TableStore, ...]:
        """The tables that can be read."""
        return tuple(table for table in self.tables if isinstance(table, TableStore))

    def store(self, number: int) -> TableStore:
        """Return a table by its number; raise BundleError if it cannot be read."""
        table_store = next((table for table in self.tables if table.number == number), None)
        if isinstance(table_store, TableStore):
            return table_store
        if table_store is None:
            raise self.files.make_damage_error(store_folder(self.number, number), "is missing")
        raise BundleError(table_store.reason, hint=WAY_OUT)

    @cached_property
    def unchecked_losses(self) -> tuple[Loss, ...]:
        """What keeps it from being known that all tables are there."""
        listed, reason = self._list
        if reason:
            text = f"Whether tables of run {self.number} are missing could not be checked: {reason}"
            return (Loss(Flaw.UNSURE, text, run=self.number),)
        unlisted = [table.number for table in self.tables if table.number not in listed]
        return tuple(
            Loss(
                Flaw.UNSURE,
                f"Store {number} of run {self.number} is not in the run's list of tables, "
                f"{table_list(self.number)}; it is read all the same.",
                run=self.number,
            )
            for number in unlisted
        )

    @ReadOnce
    def strings(self) -> Sequence[str]:
        """The texts that cells name by number; raise BundleError if they are damaged."""
        name = f"{self._uniquing}/strings"
        with self.files.reading(name):
            texts = plist(self.files.read(name, _LARGEST))
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ArchiveError("is no list of texts")
        return texts

    @cached_property
    def names(self) -> Names:
        """The names of processes, threads and cores."""
        return gather_names(self)

    @ReadOnce
    def types(self) -> Sequence[str]:
        """The types that parts of labels name by number, without "TypeID"."""
        name = f"{self._uniquing}/EngineeringTypes.etypes"
        with self.files.reading(name):
            archive = Archive(self.files.read(name, _LARGEST))
            type_ids = [archive.unwrap(value) for value in archive.sequence(archive.root)]
            if not all(isinstance(type_id, str) for type_id in type_ids):
                raise ArchiveError("is no list of types")
        return [type_id.removesuffix(TYPE_SUFFIX) for type_id in type_ids]

    @cached_property
    def _list(self) -> tuple[dict[int, Spec], str]:
        """The tables that must be there, and why that is not known."""
        try:
            return listed_stores(self.files, self.number), ""
        except BundleError as error:
            return {}, error.message

    def _table(self, number: int) -> TableStore | Unreadable:
        listed = self._list[0].get(number)
        try:
            store = read_store(self.files, self.number, number)
        except BundleError as error:
            reason = error.message
        else:
            if listed is None or same_table(listed, (store.schema, store.attributes)):
                return store
            name = table_list(self.number)
            reason = self.files.make_damage_error(
                store.folder, f"is of another table than {name} says"
            ).message
        if listed is None:
            try:
                listed = read_spec(self.files, self.number, number)
            except BundleError:
                listed = ("", {})
        return Unreadable(self.number, number, reason, *listed)


class Bundle:
    """A `.trace` bundle of Xcode 12 or later, read without Instruments."""

    def __init__(self, path: Path) -> None:
        """Open a bundle; raise InputError if it is none, damaged, or of an unknown layout."""
        if not path.is_dir():
            raise InputError(f"{path} is no bundle: it is not a folder.")
        self.path = path
        self.files = Files(path)
        self.required = requirements(self.files)
        if not self.files.exists("corespace"):
            raise unknown(path, "it has no corespace, where its tables would be")
        runs = [n for n in self.files.list_numbers("corespace", "run") if n > 0]
        if not runs:
            raise unknown(path, "it has no run: nothing was recorded, or it was not saved")
        self.document = BundleDocument(self.files)
        self.runs = tuple(
            BundleRun(self.files, number, self.required, self.document) for number in runs
        )

    @property
    def missing(self) -> tuple[Loss, ...]:
        """Each run that must be there, and is not."""
        missing = sorted(self.document.runs.keys() - {run.number for run in self.runs})
        return tuple(
            Loss(
                Flaw.DAMAGED,
                f"Run {number} is left out: {name_bundle(self.path)} has a document that names "
                "it, and "
                f"no {run_folder(number)}.",
            )
            for number in missing
        )
