"""A bundle in a folder: its runs, their tables, the texts and arrays of each run."""

from collections.abc import Iterator, Sequence
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
    """One run of a bundle. Texts, types and arrays are each read at their first use."""

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
        self._tables: dict[int, TableStore | Unreadable] = {}

    @ReadOnce
    def tables(self) -> tuple[TableStore | Unreadable, ...]:
        """All tables, missing ones included, in the order of the numbers of their stores."""
        return tuple([self._table(number) for number in self._numbers])

    @ReadOnce
    def _numbers(self) -> tuple[int, ...]:
        """The numbers of all tables, missing ones included, in order."""
        folder = f"{run_folder(self.number)}/stores"
        listed, _ = self._list
        stored_numbers = self.files.list_numbers(folder, "indexed-store-")
        numbers = {*stored_numbers, *listed}
        if len(numbers) > _MOST_STORES:
            raise self.files.make_damage_error(folder, f"holds more than {_MOST_STORES:,} tables")
        return tuple(sorted(numbers))

    @property
    def stores(self) -> tuple[TableStore, ...]:
        """The tables that can be read."""
        return tuple([table for table in self.tables if isinstance(table, TableStore)])

    def find_stores(self, schema: str) -> Iterator[TableStore]:
        """Yield the tables of a schema that can be read, without reading those of other schemas."""
        listed, _ = self._list
        for number in self._numbers:
            listed_schema, _ = listed.get(number, (schema, {}))
            if listed_schema != schema:
                continue
            table = self._table(number)
            if isinstance(table, TableStore) and table.schema == schema:
                yield table

    def store(self, number: int) -> TableStore:
        """Return a table by its number; raise BundleError if it cannot be read."""
        if number not in self._numbers:
            raise self.files.make_damage_error(store_folder(self.number, number), "is missing")
        table = self._table(number)
        if isinstance(table, TableStore):
            return table
        raise BundleError(table.reason, hint=WAY_OUT)

    @cached_property
    def unchecked_losses(self) -> tuple[Loss, ...]:
        """The reasons why tables may be missing, or may not belong to the run."""
        listed, reason = self._list
        if reason:
            text = f"Whether tables of run {self.number} are missing could not be checked: {reason}"
            return (Loss(Flaw.UNSURE, text, run=self.number),)
        losses: list[Loss] = []
        for table in self.tables:
            if table.number not in listed:
                text = (
                    f"Store {table.number} of run {self.number} is not in the run's list of "
                    f"tables, {table_list(self.number)}; it is read all the same."
                )
                losses.append(Loss(Flaw.UNSURE, text, run=self.number))
        return tuple(losses)

    @ReadOnce
    def strings(self) -> Sequence[str]:
        """The texts that cells refer to by number; raise BundleError if they are damaged."""
        name = f"{self._uniquing}/strings"
        with self.files.reading(name):
            texts = plist(self.files.read(name, _LARGEST))
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ArchiveError("is not a list of texts")
        return texts

    @cached_property
    def names(self) -> Names:
        """The names of processes, threads and cores."""
        return gather_names(self)

    @ReadOnce
    def types(self) -> Sequence[str]:
        """The types that parts of labels refer to by number, without "TypeID"."""
        name = f"{self._uniquing}/EngineeringTypes.etypes"
        with self.files.reading(name):
            archive = Archive(self.files.read(name, _LARGEST))
            values = archive.sequence(archive.root)
            type_ids = [archive.unwrap(value) for value in values]
            are_texts = all(isinstance(type_id, str) for type_id in type_ids)
            if not are_texts:
                raise ArchiveError("is not a list of types")
        return [type_id.removesuffix(TYPE_SUFFIX) for type_id in type_ids]

    @cached_property
    def _list(self) -> tuple[dict[int, Spec], str]:
        """The tables that must be there, and the reason if that is not known, or ""."""
        try:
            return listed_stores(self.files, self.number), ""
        except BundleError as error:
            return {}, error.message

    def _table(self, number: int) -> TableStore | Unreadable:
        if number not in self._tables:
            self._tables[number] = self._read_table(number)
        return self._tables[number]

    def _read_table(self, number: int) -> TableStore | Unreadable:
        all_listed, _ = self._list
        listed = all_listed.get(number)
        try:
            store = read_store(self.files, self.number, number)
        except BundleError as error:
            reason = error.message
        else:
            if listed is None or same_table(listed, (store.schema, store.attributes)):
                return store
            fault = f"is of another table than {table_list(self.number)} says"
            reason = self.files.make_damage_error(store.folder, fault).message
        if listed is None:
            try:
                listed = read_spec(self.files, self.number, number)
            except BundleError:
                listed = ("", {})
        return Unreadable(self.number, number, reason, *listed)


class Bundle:
    """A `.trace` bundle of Xcode 12 or later, read without Instruments."""

    def __init__(self, path: Path) -> None:
        """Open a bundle; raise InputError if it is not one, damaged, or of an unknown layout."""
        if not path.is_dir():
            raise InputError(f"{path} is not a bundle, because it is not a folder.")
        self.path = path
        self.files = Files(path)
        self.required = requirements(self.files)
        if not self.files.exists("corespace"):
            raise unknown(path, "it has no corespace, where its tables would be")
        all_numbers = self.files.list_numbers("corespace", "run")
        numbers = [number for number in all_numbers if number > 0]
        if not numbers:
            raise unknown(path, "it has no run: nothing was recorded, or it was not saved")
        self.document = BundleDocument(self.files)
        runs = [BundleRun(self.files, number, self.required, self.document) for number in numbers]
        self.runs = tuple(runs)

    @property
    def missing(self) -> tuple[Loss, ...]:
        """A loss for each run that the document names and that is not there."""
        numbers = {run.number for run in self.runs}
        losses: list[Loss] = []
        missing_numbers = self.document.runs.keys() - numbers
        for number in sorted(missing_numbers):
            text = (
                f"Run {number} is left out: {name_bundle(self.path)} has a document that names it, "
                f"and no {run_folder(number)}."
            )
            losses.append(Loss(Flaw.DAMAGED, text))
        return tuple(losses)
