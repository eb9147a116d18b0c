"""Tables that are read directly from a bundle: the note about them, and which there are.

`direct.json` beside the exports names the bundle. What stands beside it as XML wins.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec

from tracekit.base.errors import InputError
from tracekit.base.files import read_input
from tracekit.base.recording import save
from tracekit.tables.bundle.about.attributes import worded_attributes
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import Store
from tracekit.tables.listed import Listed
from tracekit.tables.place import Place, schema_at
from tracekit.tables.stored import Stored
from tracekit.tables.toc.toc import Toc

NOTE = "direct.json"
FORMAT = 1
_Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Direct:
    """What is read directly.

    Attributes:
        bundle: The bundle, absolute or as it is reached from the folder of the note.
        schemas: Whose tables; None for those of all schemas.
    """

    bundle: str
    schemas: tuple[str, ...] | None = None
    format: int = FORMAT

    def path(self, folder: Path) -> Path:
        """Return where the bundle is, for a note in that folder."""
        return Path(os.path.normpath(folder / self.bundle))


def direct(folder: Path) -> Direct | None:
    """Return the note about tables that are read directly; None where there is none.

    Raises:
        InputError: It cannot be read, or a newer tracekit wrote it.
    """
    note = folder / NOTE
    try:
        found = msgspec.json.decode(read_input(note), type=Direct)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise InputError(f"{note} cannot be read: {error}") from error
    if found.format > FORMAT:
        raise InputError(
            f"{note} has format {found.format}; this tracekit reads up to {FORMAT}.",
            hint="Use the tracekit that wrote it, or a newer one.",
        )
    return found


def note_direct(folder: Path, note: Direct) -> None:
    """Write the note; raise RecordingError if it cannot be written."""
    save(folder / NOTE, note)


def tables_in(
    bundle: Bundle, toc: Toc | None = None, schemas: Sequence[str] | None = None
) -> Iterator[Listed]:
    """Yield the tables of a bundle, with their places in the table of contents.

    Args:
        bundle: The bundle.
        toc: The table of contents; without it, tables are counted as their folders are.
        schemas: Whose tables; None for those of all schemas.

    Raises:
        BundleError: A run has no folder of tables.
    """
    for run in bundle.runs:
        places = places_of(run, toc)
        for one in run.tables:
            if one.schema and (schemas is None or one.schema in schemas):
                known = isinstance(one, Store)
                yield Listed(
                    file=Stored(bundle.path, run.number, one.number).file,
                    schema=one.schema,
                    place=places[one.number],
                    attributes=worded_attributes(one.attributes),
                    rows=known and one.rows > 0,
                    unreadable="" if known else one.why,
                )


def places_of(run: BundleRun, toc: Toc | None = None) -> dict[int, Place]:
    """Return the places of a run's tables in its table of contents, by their numbers.

    A bundle does not store that order. Tables are told apart by schema and attributes; where
    these are the same, the order of their numbers decides. What the table of contents lacks
    stands behind its last table.
    """
    listed = (
        [table for one in toc.runs if one.number == run.number for table in one.tables]
        if toc
        else []
    )
    free: dict[_Key, list[int]] = defaultdict(list)
    for table in listed:
        free[_key(table.schema, table.attributes)].append(table.index)
    behind = count(len(listed) + 1)
    places: dict[int, Place] = {}
    for one in run.tables:
        same = free[_key(one.schema, worded_attributes(one.attributes))] if one.schema else []
        if one.schema:
            places[one.number] = Place(run.number, same.pop(0) if same else next(behind))
    return places


def covered(one: Listed, exports: Sequence[Listed], toc: Toc | None) -> bool:
    """Tell whether an export stands for a table of a bundle, so that it is not read directly.

    It does if it is of the same place; or of the same schema, if its place is not known.
    """
    same = [other.place for other in exports if other.schema == one.schema]
    return any(
        (place.run, place.index) == (one.place.run, one.place.index)
        or schema_at(toc, place) != one.schema
        for place in same
    )


def _key(schema: str, attributes: Mapping[str, str]) -> _Key:
    return schema, frozenset(attributes.items())
