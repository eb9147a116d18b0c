"""The list of a run's tables: which stores there must be, whatever folders are found.

Layout: docs/explanation/trace-bundles.md. A table that is filled by one instrument and read by
others is listed once for each side; the side that reads, 1, occurs once for each store.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, Value
from tracekit.tables.bundle.container.store import Store, run_folder, specified

_LARGEST = 1 << 26
_READ = 1
_STORE = re.compile(r"run([0-9]{1,9})/core/stores/indexed-store-([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True)
class ListedStore:
    """What the list says of a store: its schema and its attributes, as plain values."""

    schema: str
    attributes: Mapping[str, Any]

    def describes(self, store: Store) -> bool:
        """Tell whether it is the store of this schema and these attributes.

        The members of an attribute may be archived as a set, which has no order.
        """
        names = self.attributes.keys() == store.attributes.keys()
        same = names and all(
            _unordered(value) == _unordered(store.attributes[name])
            for name, value in self.attributes.items()
        )
        return same and self.schema == store.schema


def _unordered(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, list) else value


def table_list(run: int) -> str:
    """Return where the list of a run's tables is in a bundle."""
    return f"{run_folder(run)}/table-manager/tables.plist"


def listed_stores(files: Files, run: int) -> dict[int, ListedStore]:
    """Return the stores that a run must have, by their numbers.

    Raises:
        BundleError: The list is missing, damaged, or of a form that is not known.
    """
    name = table_list(run)
    try:
        archive = Archive(files.read(name, _LARGEST))
        return dict(_listed(archive, archive.mapping(archive.root).get("tableDetails"), run))
    except ArchiveError as error:
        raise files.damaged(name, str(error)) from error


def _listed(archive: Archive, details: Value, run: int) -> Iterator[tuple[int, ListedStore]]:
    for _, one in archive.by_number(details):
        entry = archive.mapping(one)
        found = _STORE.fullmatch(str(archive.plain(entry.get("storeSubpath"))))
        if found is None or int(found[1]) != run:
            raise ArchiveError("names a store that is none of its run")
        if archive.plain(entry.get("side")) == _READ:
            yield int(found[2]), ListedStore(*specified(archive, entry.get("spec")))
