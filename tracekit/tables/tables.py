"""The tables of a run: read on request, kept for the next time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tracekit.base import (
    InputError,
    TracekitError,
    find_similar,
    markup,
)
from tracekit.tables.cache import CachedTable, PrunedError, find_choice, load_or_read
from tracekit.tables.direct import Listed, TableRef
from tracekit.tables.drift import DriftError
from tracekit.tables.export_files import refusal
from tracekit.tables.exports import index, of_one_run
from tracekit.tables.joins import MadeFrame, first_with_rows, make_table, read_inputs
from tracekit.tables.kept_columns import FrameTable, Made, ParquetTable, load_or_join, load_or_make
from tracekit.tables.kept_index import find_index
from tracekit.tables.lazy import pd
from tracekit.tables.losses import LOSSES, EncodingEvidence, Flaw, Loss, report, rows_of, sentences
from tracekit.tables.normalize import dtype_of, normalize, read_by
from tracekit.tables.place import HOW_TO_CHOOSE, OPEN, Choice
from tracekit.tables.schema import Schema, SchemaSource
from tracekit.tables.schemas import SCHEMAS, every_source, origins, unknown
from tracekit.tables.toc import Toc
from tracekit.tables.xml.node import Symbols

if TYPE_CHECKING:
    from tracekit.tables.flat import Flat

_LISTED = 5  # tables that a sentence names


class MissingTableError(TracekitError, KeyError):
    """A requested table does not exist, or no export of the run gives it."""

    def __str__(self) -> str:
        """Return the sentence, not its repr, as KeyError would."""
        return self.message


_Key = tuple[TableRef, str, int | None, int | None]  # an export, its schema, run and table
_FIRST_WITH_COPY_ON_WRITE = 3  # of pandas


class Tables(Mapping[str, "pd.DataFrame"]):
    """The normalized tables of one run in a folder of exports, or of a bundle, by name.

    Each is read at its first use. A frame belongs to its caller: changing it changes no other.
    `arrow` and `outline` return a table without making a frame of it, if it was kept.
    `losses` grows with the reports of readers: damage, drift, rows left out. The table `losses`
    has those of all tables, which are read for it.
    """

    def __init__(
        self,
        exports: Path,
        targets: frozenset[int] = frozenset(),
        cache: Path | None = None,
        only: Choice = OPEN,
        known: Iterable[Loss] = (),
        *,
        include: Sequence[str] = (),
        is_lean: bool = False,
    ) -> None:
        """Look at the exports, without reading them yet.

        Args:
            exports: The folder with the exports of one trace, or a bundle.
            targets: The pids of the recorded processes; their rows have `target` set.
            cache: The folder to keep the tables in, as Parquet; None keeps nothing.
            only: The run, if the trace has several; without it the last one, with a warning.
                With a place, only the tables there.
            known: Losses of the exports that are known beforehand.
            include: The private parts of a GPU frame capture that become tables.
            is_lean: Whether frames of kept tables are for an analysis: without the columns that
                it does not read.

        Raises:
            UsageError: There is no such run.
            InputError: There is no table at such a place, or the exports cannot be listed.
        """
        self.folder = exports
        self._targets = targets
        self._cache = cache
        self._is_lean = is_lean
        self._every = index(exports, include) if include else find_index(exports, cache)
        self._index, self.run, self.of_runs = of_one_run(self._every, exports, only)
        self._flat: dict[_Key, CachedTable] = {}
        self._refused: dict[_Key, InputError] = {}
        self._tables: dict[str, FrameTable | ParquetTable] = {}
        self._frames: dict[str, pd.DataFrame] = {}
        export_index = self._index
        self._lost = (*export_index.unread, *export_index.missing_losses)
        losses_of_files = [_strange(file) for file in export_index.strange]
        losses_so_far = (*losses_of_files, *self._lost, *export_index.unchecked_losses)
        self._read = dict.fromkeys(losses_so_far)
        all_losses = (*known, *unknown(self.schemas))
        self._made = dict.fromkeys(all_losses)
        # Losses outside the requested tables are reported, and are not a reason to fail.
        report(self._read, read=False)

    def __repr__(self) -> str:
        """Return the names of the tables in one line, without reading one."""
        names = list(self)
        shown_names = names[:_LISTED]
        hidden_count = len(names) - len(shown_names)
        if hidden_count > 0:
            shown_names.append(f"and {hidden_count} more")
        return f"<{len(names)} tables of {self.folder.name}: {', '.join(shown_names)}>"

    def _repr_html_(self) -> str:
        """Return the names of the tables and their meaning, for a notebook; reads no table."""
        rows = [(name, SCHEMAS[name].meaning) for name in self]
        return markup.html_table(("table", "holds"), rows)

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of all exports there are, whether a table is made of them or not."""
        return tuple(sorted(self._index.tables))

    @property
    def toc(self) -> Toc | None:
        """The table of contents, if there is one."""
        return self._index.toc

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings of instruments in the table of contents: pairs of a name and a setting."""
        if self._index.toc is None:
            return ()
        settings: list[tuple[str, str]] = []
        for run in self._index.toc.runs:
            if self.run not in {None, run.number}:
                continue
            for instrument, lines in run.settings.items():
                settings += [(instrument, line) for line in lines]
        return tuple(settings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The choice of the run, and the losses of the tables that were read so far."""
        texts = sentences((*self._read, *self._made))
        return (*self.of_runs, *texts)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of the tables that were read so far, and of those that cannot be read."""
        report(self._lost)
        return (*self._read, *self._made)

    @property
    def uncompared_columns(self) -> frozenset[tuple[str, str]]:
        """Schemas and columns that were read by an encoding that was never compared."""
        columns: set[tuple[str, str]] = set()
        for loss in self._read:
            if loss.evidence is EncodingEvidence.INFERRED:
                loss_columns = [(loss.schema, column) for column in loss.columns]
                columns.update(loss_columns)
        return frozenset(columns)

    def list_tables(self, schema: str, choice: Choice = OPEN) -> tuple[Listed, ...]:
        """Return the tables of a schema among which a choice is to be made.

        These are the tables with rows, if there are any; or else the first one with unreadable
        rows, or the first one without rows.
        """
        listed = self._index.tables.get(schema, ())
        tables = [table for table in listed if choice.allows(table.place, table.attributes)]
        tables_with_rows = [table for table in tables if table.rows]
        unreadable_tables = [table for table in tables if table.unreadable]
        return tuple(tables_with_rows or unreadable_tables[:1] or tables[:1])

    def flat(self, schema: str, choice: Choice = OPEN) -> CachedTable | Flat:
        """Return the one table of a schema that is meant; raise as `Tables.raw` does."""
        listed = self.find_table(schema, choice)
        place = find_choice(listed, self._every.tables[schema])
        key = (listed.ref, schema, place.run, place.table)
        if key in self._refused:
            raise self._refused[key].with_traceback(None)
        if key in self._flat:
            return self._flat[key]
        table = self._first_read(key, listed, place)
        if isinstance(table, CachedTable):  # one in memory is read for one normalized table
            self._flat[key] = table
        losses_of_empty = self._describe_empty_tables(listed, choice)
        losses = (*table.notes.losses, *losses_of_empty)
        report(losses)
        self._read |= dict.fromkeys(losses)
        return table

    def _first_read(self, key: _Key, listed: Listed, place: Choice) -> CachedTable | Flat:
        """Read an export, and remember a failure, so that no other table tries it again."""
        try:
            return load_or_read(self._cache, listed.ref, listed.schema, place, self.toc)
        except InputError as error:
            # Not the error itself, whose traceback would keep the data that was read until then.
            self._refused[key] = type(error)(error.message, error.hint)
            loss = Loss(_flaw(error), error.message, schema=listed.schema)
            self._lose(error, loss)
            raise

    def _lose(self, error: InputError, loss: Loss) -> None:
        """Note the loss of an error, since a caller that does without the table may hide it."""
        for known_loss in self._lost:
            if error.message in known_loss.text:
                return
        self._read[loss] = None
        report([loss])

    def find_table(self, schema: str, choice: Choice = OPEN) -> Listed:
        """Return the one listed table of a schema that is meant; raise as `Tables.raw` does."""
        losses = [loss for loss in self._lost if loss.schema in {"", schema}]
        report(losses)
        if schema not in self._index.tables:
            near = find_similar(schema, self.schemas)
            there = ", ".join(near or self.schemas) or "none at all"
            raise MissingTableError(
                f"There is no table {schema} in {self.folder}.", hint=f"There are {there}."
            )
        tables = self.list_tables(schema, choice)
        if not tables:
            raise InputError(
                f"{self.folder} has no {schema} that is {choice}; it has "
                f"{_name_tables(self._index.tables[schema])}.",
                hint=HOW_TO_CHOOSE,
            )
        listed, *others = tables
        if others:
            folder = self.folder
            if isinstance(listed.ref, Path):
                folder = listed.ref.resolve().parent
            raise InputError(
                f"{folder} has {len(tables)} tables of {schema}: {_name_tables(tables)}.",
                hint=HOW_TO_CHOOSE,
            )
        return listed

    def _describe_empty_tables(self, listed: Listed, choice: Choice) -> list[Loss]:
        """Return a loss for each table that was left out because it has no rows."""
        if not listed.rows:
            return []
        losses: list[Loss] = []
        for table in self._index.tables[listed.schema]:
            if table == listed or table.unreadable:
                continue
            if choice.allows(table.place, table.attributes):
                text = f"{table.schema}: {table} has no rows and is left out."
                loss = Loss(Flaw.NOTED, text, schema=table.schema)
                losses.append(loss)
        return losses

    def raw(
        self,
        schema: str,
        *,
        table: int | None = None,
        run: int | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> pd.DataFrame:
        """Return the flat table of any exported schema, as `read_table` gives it.

        Args:
            schema: The schema, such as "metal-gpu-intervals".
            table: The table's place in the table of contents, if a schema occurs repeatedly.
            run: The number of its run, which is the run of these tables.
            attributes: Some of its attributes there, such as {"counter-profile": "3"}.

        Raises:
            MissingTableError: No export has the schema.
            InputError: The export cannot be read, or the choice is not clear.
        """
        choice = Choice(run, table, attributes or {})
        flat = self.flat(schema, choice)
        return _handed_out(flat.frame)

    def symbols(self, schema: str, *, table: int | None = None, run: int | None = None) -> Symbols:
        """Return the stacks that the columns NAME.stack of a flat table number; as `raw` raises."""
        return self.flat(schema, Choice(run, table)).symbols

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table; raise MissingTableError if no export gives it."""
        if name == LOSSES:
            return _losses_table(self._every_loss())
        if name not in self._frames:
            table = self._make(name)
            if self._is_lean and isinstance(table, ParquetTable):
                self._frames[name] = table.lean_frame()
            else:
                self._frames[name] = table.frame()
        return _handed_out(self._frames[name])

    def forget(self, name: str) -> None:
        """Hold the frame of a table no longer; the next request reads it again."""
        self._frames.pop(name, None)

    def further_columns(self, name: str) -> Mapping[str, pd.Series]:
        """Return the columns that a lean frame lacks, each of which is read on request."""
        table = self._make(name)
        if self._is_lean and isinstance(table, ParquetTable):
            return table.further_columns
        return {}

    def list_losses(self, more: Iterable[Loss] = ()) -> pd.DataFrame:
        """Return the table `losses` of the tables that were read before, and of `more`."""
        return _losses_table((*self.losses, *more))

    def arrow(self, name: str) -> pa.Table:
        """Return a table as one of Arrow; raise MissingTableError if no export gives it."""
        if name == LOSSES:
            return FrameTable(self[name]).arrow()
        return self._make(name).arrow()

    def outline(
        self, name: str, *, table: int | None = None, run: int | None = None
    ) -> tuple[int, tuple[str, ...]]:
        """Return the number of rows, and the names of the columns, of what `chosen` returns."""
        if name == LOSSES:
            columns = tuple([column.name for column in SCHEMAS[name].columns])
            return len(rows_of(self._every_loss())), columns
        content = self._choose(name, table, run)
        return len(content), content.columns

    def _make(self, name: str) -> FrameTable | ParquetTable:
        if name not in self._tables:
            ways = self._ways(_schema(name))
            table, losses = first_with_rows(name, ways)
            self._note_made(losses)
            self._tables[name] = table
        return self._tables[name]

    def list_choices(self, name: str) -> tuple[Listed, ...]:
        """Return the exported tables that `chosen` can choose from, if there are several."""
        schema = _schema(name)
        source = self._source(schema)
        if schema.is_concatenated or source is None:
            return ()
        listed = self.list_tables(source.schema)
        if len(listed) > 1:
            return listed
        return ()

    def chosen(
        self, name: str, *, table: int | None = None, run: int | None = None
    ) -> pd.DataFrame:
        """Return a table that is read from the chosen one of several exported tables."""
        if name == LOSSES or (table, run, self._is_lean) == (None, None, False):
            return self[name]
        return self._choose(name, table, run).frame()

    def _choose(self, name: str, table: int | None, run: int | None) -> FrameTable | ParquetTable:
        schema = _schema(name)
        source = self._source(schema)
        if source is None or (table, run) == (None, None):
            return self._make(name)
        content, losses = self._normalize_table(schema, source, Choice(run, table))
        self._note_made(losses)
        return content

    def _note_made(self, losses: Iterable[Loss]) -> None:
        new_losses = dict.fromkeys(losses)
        report(new_losses)
        self._made |= new_losses

    def _every_loss(self) -> tuple[Loss, ...]:
        """Read every table, and return all losses."""
        for name in self:
            if name != LOSSES:
                with suppress(TracekitError):  # which was noted as a loss
                    self._make(name)
        return self.losses

    def __contains__(self, name: object) -> bool:
        """Return whether an export gives the table, without reading it."""
        if name == LOSSES:
            return True
        if not isinstance(name, str) or name not in SCHEMAS:
            return False
        schema = SCHEMAS[name]
        return self._source(schema) is not None or self._joins(schema)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the tables that are there, in the order of SCHEMAS."""
        report(self._lost)
        return (name for name in SCHEMAS if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _source(self, schema: Schema) -> SchemaSource | None:
        """Return the first source of a table that has an export."""
        for source in schema.sources:
            if source.schema in self._index.tables:
                return source
        return None

    def _joins(self, schema: Schema) -> bool:
        """Return whether a table can be joined of other tables that are there."""
        if schema.join is None:
            return False
        required_names = read_inputs(schema.join).required
        return all(name in self for name in required_names)

    def _ways(self, schema: Schema) -> list[Callable[[], Made]]:
        """Return the functions that can make the table here, first choice first."""
        ways: list[Callable[[], Made]] = []
        source = self._source(schema)
        join = schema.join
        if source is not None:
            ways.append(lambda: self._normalize_all(schema, source))
        if join is not None and self._joins(schema):
            ways.append(lambda: self._join(schema, join))
            if schema.joined_first:
                ways.reverse()
        if not ways:
            source_names = {"", *every_source(schema.name)}
            losses = [loss for loss in self._lost if loss.schema in source_names]
            report(losses)
            raise MissingTableError(
                f"The table {schema.name} is not there: no export of {origins(schema)} is in "
                f"{self.folder}.",
                hint=f"Export {origins(schema)}, with a template that records it.",
            )
        return ways

    def _normalize_all(self, schema: Schema, source: SchemaSource) -> Made:
        """Normalize the exported table, or all of them if the schema concatenates them."""
        if not schema.is_concatenated:
            return self._normalize_table(schema, source)
        listed = self.list_tables(source.schema)
        if len(listed) < 2:  # noqa: PLR2004  several
            return self._normalize_table(schema, source)
        parts: list[pd.DataFrame] = []
        losses: list[Loss] = []
        for export in listed:
            part, part_losses = self._normalize_table(schema, source, export.choice)
            parts.append(part.frame())
            losses += part_losses
        return FrameTable(pd.concat(parts, ignore_index=True)), losses

    def _join(self, schema: Schema, join: Callable[..., Any]) -> Made:
        def make() -> MadeFrame:
            return make_table(schema, join, self._find_inputs(join))

        keys = self._find_input_keys(join)
        if self._cache is None or keys is None:
            frame, losses = make()
            return FrameTable(frame), losses
        return load_or_join(self._cache, schema, keys, make)

    def _find_inputs(self, join: Callable[..., Any]) -> Mapping[str, pd.DataFrame]:
        if self._is_lean:
            return _JoinedTables(self, read_inputs(join).columns)
        return self

    def select(self, name: str, columns: Collection[str] | None) -> pd.DataFrame:
        """Return some columns of a table, or all; the frame is not held."""
        table = self._make(name)
        if columns is None:
            return table.frame()
        return table.select(columns)

    def _find_input_keys(self, join: Callable[..., Any]) -> list[str] | None:
        """Make the inputs of a join; return their keys, or None if one was not kept.

        An optional input that is not there has the key "".
        """
        inputs = read_inputs(join)
        keys: list[str] = []
        for name in (*inputs.required, *inputs.optional):
            if name not in self:
                keys.append("")
                continue
            try:
                key = self._make(name).key
            except InputError:  # which the join itself reports
                return None
            if not key:
                return None
            keys.append(key)
        return keys

    def _normalize_table(self, schema: Schema, source: SchemaSource, choice: Choice = OPEN) -> Made:
        flat = self.flat(source.schema, choice)

        def make() -> MadeFrame:
            part = flat.arrow(read_by(schema))
            return normalize(part, schema, source, self._targets, flat.names)

        try:
            if self._cache is not None and isinstance(flat, CachedTable):
                return load_or_make(self._cache, flat, schema, source, self._targets, make=make)
            frame, losses = make()
            return FrameTable(frame), losses
        except InputError as error:
            loss = Loss(_flaw(error), error.message, schema.name, source.schema)
            self._lose(error, loss)
            raise


class _JoinedTables(Mapping[str, "pd.DataFrame"]):
    """Tables with the columns that a join reads, which lean ones may lack; none of them is held."""

    def __init__(self, tables: Tables, columns: Mapping[str, tuple[str, ...]]) -> None:
        self._tables = tables
        self._columns = columns

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self._tables.select(name, self._columns.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _schema(name: str) -> Schema:
    if name not in SCHEMAS:
        near = find_similar(name, SCHEMAS, likeness=0.4)
        raise MissingTableError(
            f"There is no table {name!r}.", hint=f"Near are {', '.join(near or SCHEMAS)}."
        )
    return SCHEMAS[name]


def _flaw(error: InputError) -> Flaw:
    """Return the flaw of an unreadable table: damage, unless it has a new form or was pruned."""
    if isinstance(error, PrunedError):
        return Flaw.NOTED
    if isinstance(error, DriftError):
        return Flaw.UNREADABLE
    return Flaw.DAMAGED


def _strange(file: Path) -> Loss:
    """Return the loss of a file that is not an export; an empty one is a damaged export."""
    if not file.stat().st_size:
        return Loss(Flaw.DAMAGED, f"{file.name} is empty.")
    reason = refusal(file).message
    return Loss(Flaw.NOTED, f"{file.name} is left out: {reason}")


def _handed_out(frame: pd.DataFrame) -> pd.DataFrame:
    major_version, _, _ = pd.__version__.partition(".")
    return frame.copy(deep=int(major_version) < _FIRST_WITH_COPY_ON_WRITE)


def _losses_table(losses: Iterable[Loss]) -> pd.DataFrame:
    """Return losses as the table `losses`: a row for each, with its sentence."""
    rows = rows_of(losses)
    columns: dict[str, Any] = {}
    for column in SCHEMAS[LOSSES].columns:
        cells = [getattr(row, column.name) for row in rows]
        columns[column.name] = pd.Series(
            cells, dtype=pd.api.types.pandas_dtype(dtype_of(column.kind))
        )
    return pd.DataFrame(columns)


def _name_tables(tables: Sequence[Listed]) -> str:
    """Return the names of the first tables, and the number of the others."""
    names = [str(table) for table in tables[:_LISTED]]
    more = len(tables) - _LISTED
    if more > 0:
        names.append(f"and {more:,} more, which `tracekit tables` lists")
    return "; ".join(names)
