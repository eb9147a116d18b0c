"""The exports of a folder as flat tables: which there are, and the one that is meant."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from tracekit.base import InputError, TracekitError
from tracekit.tables.bundle.cells.encodings import Said
from tracekit.tables.cache import Kept, kept_or_read
from tracekit.tables.direct import Listed, TableRef, is_bundle
from tracekit.tables.drift import Flaw, Remark
from tracekit.tables.exports import index, refusal
from tracekit.tables.flat import Flat
from tracekit.tables.place import HOW_TO_CHOOSE, OPEN, Choice
from tracekit.tables.selection import of_one_run
from tracekit.tables.toc.toc import Toc

_LISTED = 5  # tables that a sentence names
_KEEP_APART = " Keep the exports of one recording in a folder."


class MissingTableError(TracekitError, KeyError):
    """A table was asked for that no export of the run gives, or that does not exist."""

    def __str__(self) -> str:
        """Return the sentence, not its repr, as KeyError would."""
        return self.message


class RawTables:
    """The flat tables of one run in a folder of exports; `warnings` grows with what readers say."""

    def __init__(self, folder: Path, cache: Path | None = None, only: Choice = OPEN) -> None:
        """Look at the exports, without reading them.

        Args:
            folder: The exports of one trace, or a bundle.
            cache: Where to keep what was read.
            only: The run to look at, the last one if it is not named, and a place in it.

        Raises:
            UsageError: There is no such run.
            InputError: There is no table at such a place, or the exports cannot be listed.
        """
        self.folder = folder
        self._cache = cache
        self._every = index(folder, cache)
        self._index, self.run, self.of_runs = of_one_run(self._every, folder, only)
        self._read: dict[tuple[TableRef, str, int | None, int | None], Kept | Flat] = {}
        found = self._index
        left_out = (f"{one.name} is left out: {refusal(one).message}" for one in found.strange)
        of_bundle = (one.text for one in (*found.lost, *found.said))
        self.warnings = dict[Said, None](
            dict.fromkeys((*self.of_runs, *left_out, *found.unread, *of_bundle))
        )

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of all exports there are."""
        return tuple(sorted(self._index.tables))

    @property
    def toc(self) -> Toc | None:
        """The table of contents, if there is one."""
        return self._index.toc

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What the table of contents says of instruments: their names and one setting each."""
        runs = self._index.toc.runs if self._index.toc else ()
        return tuple(
            (instrument, line)
            for run in runs
            if self.run in {None, run.number}
            for instrument, lines in run.settings.items()
            for line in lines
        )

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is wrong with the exports that were read so far, and with files that hold none."""
        empty = [path for path in self._index.strange if not path.stat().st_size]
        said = [(Flaw.DAMAGED, "", f"{path.name} is empty.") for path in empty]
        said += [(Flaw.DAMAGED, "", one.text) for one in self._index.lost]
        said += [(Flaw.UNREADABLE, "", text) for text in self._index.unread]
        for (_, schema, _, _), table in self._read.items():
            said += [(Flaw.DAMAGED, schema, text) for text in table.told.damage]
            said += [(Flaw.CHANGED, schema, text) for text in table.told.drift]
        return tuple(Remark(flaw, "", schema, (), text) for flaw, schema, text in said)

    def listed(self, schema: str, choice: Choice = OPEN) -> tuple[Listed, ...]:
        """Return the tables of a schema that may be meant, if there are several.

        Those without rows do not count where another has some, nor do those whose rows cannot be
        read; but they count before those that have none.
        """
        tables = [
            one
            for one in self._index.tables.get(schema, ())
            if choice.allows(one.place, one.attributes)
        ]
        unreadable = [table for table in tables if table.unreadable]
        return tuple([one for one in tables if one.rows] or unreadable[:1] or tables[:1])

    def table(self, schema: str, choice: Choice = OPEN) -> Kept | Flat:
        """Return the one table of a schema that is meant.

        Raises:
            MissingTableError: There is no export of it.
            InputError: The export cannot be read, or it is not clear which table is meant.
        """
        one = self.chosen(schema, choice)
        place = kept_as(one, self._every.tables[schema])
        key = (one.ref, schema, place.run, place.table)
        if key not in self._read:
            self._read[key] = kept_or_read(self._cache, one.ref, schema, place, self._index.toc)
            said = self._read[key].told.said
            self.warnings |= dict.fromkeys((*said, *self._others(one, choice)))
        return self._read[key]

    def chosen(self, schema: str, choice: Choice = OPEN) -> Listed:
        """Return where the one table of a schema is that is meant; raise as `table` does."""
        if schema not in self._index.tables:
            near = difflib.get_close_matches(schema, self.schemas)
            what = "table" if is_bundle(self.folder) else "export of"
            raise MissingTableError(
                f"There is no {what} {schema} in {self.folder}.",
                hint=f"There are {', '.join(near or self.schemas) or 'none at all'}.",
            )
        tables = self.listed(schema, choice)
        if not tables:
            raise InputError(
                f"{self.folder} has no {schema} that is {choice}; it has "
                f"{_named(self._index.tables[schema])}.",
                hint=HOW_TO_CHOOSE,
            )
        if len(tables) > 1:
            apart = "" if is_bundle(self.folder) else _KEEP_APART
            raise InputError(
                f"{self.folder} has {len(tables)} tables of {schema}: {_named(tables)}.",
                hint=f"{HOW_TO_CHOOSE}{apart}",
            )
        return next(iter(tables))

    def _others(self, listed: Listed, choice: Choice) -> list[str]:
        """Say which tables were left out for having no rows."""
        if not listed.rows:
            return []
        return [
            f"{other.schema}: {other} has no rows and is left out."
            for other in self._index.tables[listed.schema]
            if other != listed
            and not other.unreadable
            and choice.allows(other.place, other.attributes)
        ]


def kept_as(listed: Listed, tables: Sequence[Listed]) -> Choice:
    """Return by which choice a table of a schema is read and kept, among all of that schema.

    Where there are several it is the table's place, even if each has a file of its own, so that
    what is kept of one never takes the place of what is kept of another.
    """
    in_file = sum(other.ref == listed.ref for other in tables)
    if len(tables) == 1 or (in_file == 1 and listed.place.index is None):
        return OPEN
    return listed.choice


def _named(tables: Sequence[Listed]) -> str:
    more = len(tables) - _LISTED
    others = [f"and {more:,} more, which `tracekit tables` lists"] if more > 0 else []
    return "; ".join([*map(str, tables[:_LISTED]), *others])
