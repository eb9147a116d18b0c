"""The comparisons of tables that are kept for each build of Xcode, and other notes on builds.

A table that is read directly from a bundle must be equal to its export. That is known for a table's
schema together with the types of its columns, as they are stored.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from tracekit.base import TracekitError, documents
from tracekit.base import files as base_files

if TYPE_CHECKING:
    from tracekit.tables import TableStore

log = logging.getLogger(__name__)

FORMAT = 1
_NOTE = "direct-reading"


@dataclass(frozen=True)
class Checked:
    """The comparison of a table: its schema, its rows, and the time (ISO 8601).

    `difference` is the first difference in words; empty if there was none.
    """

    schema: str
    rows: int
    checked: str
    difference: str = ""


@dataclass(frozen=True)
class KnownBundles:
    """The comparisons of one build of Xcode; `tables` holds their results by `shape`."""

    build: str
    tables: Mapping[str, Checked] = field(default_factory=dict[str, Checked])
    format: int = FORMAT

    def find_checked_table(self, store: "TableStore") -> Checked | None:
        """Return the result of a table's comparison, or None if it was not compared.

        A comparison without rows proves nothing for a table with rows.
        """
        checked_table = self.tables.get(shape(store))
        if checked_table is None:
            return None
        has_result = checked_table.rows or checked_table.difference
        if store.rows and not has_result:
            return None
        return checked_table

    def difference(self, store: "TableStore") -> str:
        """Return how a direct read differs from an export, empty if it does not."""
        checked_table = self.find_checked_table(store)
        if checked_table is None:
            return ""
        return checked_table.difference


class _Formatted(Protocol):
    @property
    def format(self) -> int: ...


_Note = TypeVar("_Note", bound=_Formatted)


def shape(store: "TableStore") -> str:
    """Return a name for a table's schema and the types of its columns, as they are stored."""
    lines: list[str] = []
    for column in store.columns:
        width = column.field.width
        lines.append(f"{column.mnemonic} {column.type_id} {column.field.offset} {width}")
    columns = "\n".join(lines).encode()
    digest = blake2b(columns, digest_size=8).hexdigest()
    return f"{store.schema} {digest}"


def note_file(folder: Path, name: str, *parts: str) -> Path:
    """Return the file of a note on the given builds and chip."""
    words: list[str] = []
    for part in parts:
        word = re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.")
        words.append(word or "unknown")
    return folder / f"{name}-{'_'.join(words)}.json"


def read_note(file: Path, blank: _Note) -> _Note:
    """Return the note in a file, or `blank` if the file holds none of this form."""
    try:
        note = documents.decode_json(file.read_bytes(), type(blank))
    except FileNotFoundError:
        return blank
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read and is not used: %s", file, error)
        return blank
    if note.format != blank.format:
        return blank
    return note


def recall(build: str, folder: Path) -> KnownBundles:
    """Return the comparisons of a build; an unreadable note or one of a newer form is ignored."""
    return read_note(note_file(folder, _NOTE, build), KnownBundles(build))


def keep_comparisons(memory: KnownBundles) -> None:
    """Save the comparisons of a build; log a warning if that is impossible."""
    try:
        documents.save(note_file(base_files.notes_folder(), _NOTE, memory.build), memory)
    except TracekitError as error:
        log.warning("tables will be compared again: %s", error.message)


def order_for_comparison(store: "TableStore") -> tuple[bool, int]:
    """Sort small tables before large ones, and empty tables last.

    Only the first table of each form is compared, so it should be small but have rows.
    """
    return not store.rows, store.rows
