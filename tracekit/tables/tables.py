"""The tables of a run: read when asked for, kept for the next time."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd

from tracekit.base import InputError, RecordingError, TracekitError
from tracekit.tables.bundle.run_info import issues_of, losses_of, write_toc
from tracekit.tables.cache import Kept, PrunedError, kept_as, kept_or_read
from tracekit.tables.direct import Direct, Listed, TableRef, note_direct, open_bundle
from tracekit.tables.drift import DriftError
from tracekit.tables.exports import index, of_one_run, refusal, select_run
from tracekit.tables.flat import Flat
from tracekit.tables.joins import Made, first_with_rows, make_table, read_inputs
from tracekit.tables.losses import LOSSES, EncodingEvidence, Flaw, Loss, report, rows_of, sentences
from tracekit.tables.normalize import dtype_of, normalize, read_by
from tracekit.tables.place import HOW_TO_CHOOSE, OPEN, Choice
from tracekit.tables.schema import Schema, SchemaSource
from tracekit.tables.schemas import SCHEMAS, every_source, origins, unknown
from tracekit.tables.toc import Toc
from tracekit.tables.xml.node import Symbols

_LISTED = 5  # tables that a sentence names


class MissingTableError(TracekitError, KeyError):
    """A table was asked for that no export of the run gives, or that does not exist."""

    def __str__(self) -> str:
        """Return the sentence, not its repr, as KeyError would."""
        return self.message


_Key = tuple[TableRef, str, int | None, int | None]  # an export, its schema, run and table
_COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3  # noqa: PLR2004  # a version


class Tables(Mapping[str, pd.DataFrame]):
    """The normalized tables of one run in a folder of exports, or of a bundle, by name.

    Each is read at its first use. A frame belongs to its caller: changing it changes no other.
    `losses` grows with what readers have to say: damage, drift, rows left out. The table `losses`
    has those of all tables, which are read for it.
    """

    def __init__(
        self,
        exports: Path,
        targets: frozenset[int] = frozenset(),
        cache: Path | None = None,
        only: Choice = OPEN,
        known: Iterable[Loss] = (),
    ) -> None:
        """Look at the exports, without reading them yet.

        Args:
            exports: The folder with the exports of one trace, or a bundle.
            targets: The pids of the recorded processes; their rows have `target` set.
            cache: Where to keep what was read, as Parquet; None keeps nothing.
            only: The run, where the trace has several; without it the last one, which is said in
                a warning. With a place, the tables there alone.
            known: What is known of the exports beforehand.

        Raises:
            UsageError: There is no such run.
            InputError: There is no table at such a place, or the exports cannot be listed.
        """
        self.folder = exports
        self._targets = targets
        self._cache = cache
        self._every = index(exports)
        self._index, self.run, self.of_runs = of_one_run(self._every, exports, only)
        self._flat: dict[_Key, Kept | Flat] = {}
        self._refused: dict[_Key, InputError] = {}
        self._tables: dict[str, pd.DataFrame] = {}
        export_index = self._index
        self._lost = (*export_index.unread, *export_index.missing_losses)
        self._read = dict.fromkeys(
            (*map(_strange, export_index.strange), *self._lost, *export_index.unchecked_losses)
        )
        self._made = dict.fromkeys((*known, *unknown(self.schemas)))
        # What was lost beside that is asked for is told, and is no reason to fail.
        report(self._read, read=False)

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
    def warnings(self) -> tuple[str, ...]:
        """Which run was chosen, and the losses of the tables that were read so far."""
        return (*self.of_runs, *sentences((*self._read, *self._made)))

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What is lost of the tables that were read so far, and of those that cannot be."""
        report(self._lost)
        return (*self._read, *self._made)

    @property
    def uncompared_columns(self) -> frozenset[tuple[str, str]]:
        """Schemas and columns that were read by an encoding that was never compared."""
        return frozenset(
            (loss.schema, column)
            for loss in self._read
            if loss.evidence is EncodingEvidence.INFERRED
            for column in loss.columns
        )

    def list_tables(self, schema: str, choice: Choice = OPEN) -> tuple[Listed, ...]:
        """Return the tables of a schema that may be meant, if there are several.

        Those without rows do not count where another has some, nor do those whose rows cannot be
        read; but they count before those that have none.
        """
        tables = [
            table
            for table in self._index.tables.get(schema, ())
            if choice.allows(table.place, table.attributes)
        ]
        unreadable = [table for table in tables if table.unreadable]
        return tuple([table for table in tables if table.rows] or unreadable[:1] or tables[:1])

    def flat(self, schema: str, choice: Choice = OPEN) -> Kept | Flat:
        """Return the one table of a schema that is meant; raise as `Tables.raw` does."""
        listed = self.find_table(schema, choice)
        place = kept_as(listed, self._every.tables[schema])
        key = (listed.ref, schema, place.run, place.table)
        if key in self._refused:
            raise self._refused[key].with_traceback(None)
        if key not in self._flat:
            self._flat[key] = self._first_read(key, listed, place)
            losses = (*self._flat[key].notes.losses, *self._describe_empty_tables(listed, choice))
            report(losses)
            self._read |= dict.fromkeys(losses)
        return self._flat[key]

    def _first_read(self, key: _Key, listed: Listed, place: Choice) -> Kept | Flat:
        """Read an export; what cannot be read is not tried again for each table made of it."""
        try:
            return kept_or_read(self._cache, listed.ref, listed.schema, place, self.toc)
        except InputError as error:
            # Not the error itself, whose traceback would keep what was read until then.
            self._refused[key] = type(error)(error.message, error.hint)
            self._lose(error, Loss(_flaw(error), error.message, schema=listed.schema))
            raise

    def _lose(self, error: InputError, loss: Loss) -> None:
        """Note what an error costs: whoever does without the table may say nothing of it."""
        if not any(error.message in known_loss.text for known_loss in self._lost):
            self._read[loss] = None
            report([loss])

    def find_table(self, schema: str, choice: Choice = OPEN) -> Listed:
        """Return where the one table of a schema is that is meant; raise as `table` does."""
        report(loss for loss in self._lost if loss.schema in {"", schema})
        if schema not in self._index.tables:
            near = difflib.get_close_matches(schema, self.schemas)
            raise MissingTableError(
                f"There is no table {schema} in {self.folder}.",
                hint=f"There are {', '.join(near or self.schemas) or 'none at all'}.",
            )
        tables = self.list_tables(schema, choice)
        if not tables:
            raise InputError(
                f"{self.folder} has no {schema} that is {choice}; it has "
                f"{_name_tables(self._index.tables[schema])}.",
                hint=HOW_TO_CHOOSE,
            )
        if len(tables) > 1:
            raise InputError(
                f"{self.folder} has {len(tables)} tables of {schema}: {_name_tables(tables)}.",
                hint=HOW_TO_CHOOSE,
            )
        return next(iter(tables))

    def _describe_empty_tables(self, listed: Listed, choice: Choice) -> list[Loss]:
        """Tell which tables were left out for having no rows."""
        if not listed.rows:
            return []
        return [
            Loss(
                Flaw.NOTED,
                f"{table.schema}: {table} has no rows and is left out.",
                schema=table.schema,
            )
            for table in self._index.tables[listed.schema]
            if table != listed
            and not table.unreadable
            and choice.allows(table.place, table.attributes)
        ]

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
            table: The table's place in the table of contents, where a schema occurs repeatedly.
            run: Its run, which is the one that these tables are of.
            attributes: Some of its attributes there, such as {"counter-profile": "3"}.

        Raises:
            MissingTableError: There is no export of it.
            InputError: The export cannot be read, or it is not clear which table is meant.
        """
        return _handed_out(self.flat(schema, Choice(run, table, attributes or {})).part())

    def symbols(self, schema: str, *, table: int | None = None, run: int | None = None) -> Symbols:
        """Return the stacks that the columns NAME.stack of a flat table number; as `raw` raises."""
        return self.flat(schema, Choice(run, table)).symbols

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table; raise MissingTableError where no export gives it."""
        if name == LOSSES:
            return losses_table(self._every_loss())
        if name not in self._tables:
            table, losses = first_with_rows(name, self._ways(_schema(name)))
            self._note_made(losses)
            self._tables[name] = table
        return _handed_out(self._tables[name])

    def list_choices(self, name: str) -> tuple[Listed, ...]:
        """Return what `chosen` can choose from, if it is not clear what a table is read from."""
        schema = _schema(name)
        source = None if schema.is_concatenated else self._source(schema)
        listed = self.list_tables(source.schema) if source is not None else ()
        return listed if len(listed) > 1 else ()

    def chosen(
        self, name: str, *, table: int | None = None, run: int | None = None
    ) -> pd.DataFrame:
        """Return a table as it is read from the one of several exported tables that is meant."""
        schema = _schema(name)
        source = self._source(schema)
        if source is None or (table, run) == (None, None):
            return self[name]
        frame, losses = self._normalize_table(schema, source, Choice(run, table))
        self._note_made(losses)
        return frame

    def _note_made(self, losses: Iterable[Loss]) -> None:
        new_losses = dict.fromkeys(losses)
        report(new_losses)
        self._made |= new_losses

    def _every_loss(self) -> tuple[Loss, ...]:
        """Read every table, and return what was lost of any."""
        for name in self:
            if name != LOSSES:
                with suppress(TracekitError):  # which is a loss then
                    _ = self[name]
        return self.losses

    def __contains__(self, name: object) -> bool:
        """Tell whether an export gives the table, without reading it."""
        if name == LOSSES:
            return True
        schema = SCHEMAS.get(name) if isinstance(name, str) else None
        return schema is not None and (self._source(schema) is not None or self._joins(schema))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the tables that are there, in the order of SCHEMAS."""
        report(self._lost)
        return (name for name in SCHEMAS if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _source(self, schema: Schema) -> SchemaSource | None:
        return next((source for source in schema.sources if source.schema in self.schemas), None)

    def _joins(self, schema: Schema) -> bool:
        return schema.join is not None and all(
            name in self for name in read_inputs(schema.join).required
        )

    def _ways(self, schema: Schema) -> list[Callable[[], Made]]:
        """Return how the table can be had here, first choice first."""
        ways: list[Callable[[], Made]] = []
        source, join = self._source(schema), schema.join
        if source is not None:
            ways.append(lambda: self._normalize_all(schema, source))
        if join is not None and self._joins(schema):
            ways.insert(
                0 if schema.joined_first else len(ways), lambda: make_table(schema, join, self)
            )
        if not ways:
            report(loss for loss in self._lost if loss.schema in {"", *every_source(schema.name)})
            raise MissingTableError(
                f"The table {schema.name} is not there: no export of {origins(schema)} is in "
                f"{self.folder}.",
                hint=f"Export {origins(schema)}, with a template that records it.",
            )
        return ways

    def _normalize_all(self, schema: Schema, source: SchemaSource) -> Made:
        listed = self.list_tables(source.schema) if schema.is_concatenated else ()
        if len(listed) < 2:  # noqa: PLR2004  several
            return self._normalize_table(schema, source)
        parts = [self._normalize_table(schema, source, export.choice) for export in listed]
        losses = [loss for _, more in parts for loss in more]
        return pd.concat([table for table, _ in parts], ignore_index=True), losses

    def _normalize_table(self, schema: Schema, source: SchemaSource, choice: Choice = OPEN) -> Made:
        flat = self.flat(source.schema, choice)
        try:
            part = flat.part(read_by(schema))
            return normalize(part, schema, source, self._targets, flat.names)
        except InputError as error:
            loss = Loss(_flaw(error), error.message, schema.name, source.schema)
            self._lose(error, loss)
            raise


def _schema(name: str) -> Schema:
    if name not in SCHEMAS:
        near = difflib.get_close_matches(name, SCHEMAS, cutoff=0.4)
        raise MissingTableError(
            f"There is no table {name!r}.", hint=f"Near are {', '.join(near or SCHEMAS)}."
        )
    return SCHEMAS[name]


def _flaw(error: InputError) -> Flaw:
    """Tell what keeps a table from being read: damage, unless it is another form or was pruned."""
    if isinstance(error, PrunedError):
        return Flaw.NOTED
    return Flaw.UNREADABLE if isinstance(error, DriftError) else Flaw.DAMAGED


def _strange(file: Path) -> Loss:
    """Return what is to be known of a file that is no export; an empty one was to be one."""
    if not file.stat().st_size:
        return Loss(Flaw.DAMAGED, f"{file.name} is empty.")
    return Loss(Flaw.NOTED, f"{file.name} is left out: {refusal(file).message}")


def _handed_out(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.copy(deep=not _COPY_ON_WRITE)


def leave_in_place(bundle: Path, exports: Path) -> None:
    """Write the table of contents of a bundle, and a note that its tables are read from it.

    A folder of exports beside the bundle names it without the folder that both are in, so that
    this can be moved. A bundle that cannot be read is an InputError.
    """
    opening = open_bundle(bundle)
    is_beside = bundle.parent == exports.parent
    name = f"../{bundle.name}" if is_beside else str(bundle.resolve())
    try:
        exports.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{exports} cannot be made: {error.strerror}.") from error
    write_toc(opening, exports / "toc.xml")
    note_direct(exports, Direct(name))


def losses_of_run(bundle: Path, number: int) -> tuple[Loss, ...]:
    """Return what is to be known of a run of a bundle, and report it.

    That is what it lacks, what is not verified, and what Instruments noted of it.
    """
    opening = open_bundle(bundle)
    issues = [
        issue for run in opening.runs if run.number == number for issue in issues_of(opening, run)
    ]
    losses = (*losses_of(opening, number), *issues)
    report(losses)
    return losses


def tables_of_bundle(bundle: Path, choice: Choice = OPEN) -> Tables:
    """Return the normalized tables of a run of a bundle; no run is made of it, nothing is kept.

    A run that is not there is a UsageError, a bundle that cannot be read an InputError.
    """
    run, _ = select_run(index(bundle), bundle, choice.run)
    target = None if run is None else run.target
    targets = frozenset[int]() if target is None else frozenset([target.pid])
    prior_losses = losses_of(open_bundle(bundle), None if run is None else run.number)
    return Tables(bundle, targets, only=choice, known=prior_losses)


def losses_table(losses: Iterable[Loss]) -> pd.DataFrame:
    """Return losses as the table `losses`: a row for each, with its sentence."""
    rows = [vars(row) for row in rows_of(losses)]
    frame = pd.DataFrame(rows, columns=[column.name for column in SCHEMAS[LOSSES].columns])
    dtypes = {column.name: dtype_of(column.kind) for column in SCHEMAS[LOSSES].columns}
    return frame.astype(dtypes)


def _name_tables(tables: Sequence[Listed]) -> str:
    more = len(tables) - _LISTED
    more_words = [f"and {more:,} more, which `tracekit tables` lists"] if more > 0 else []
    return "; ".join([*map(str, tables[:_LISTED]), *more_words])
