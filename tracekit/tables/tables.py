"""The tables of a run: read when asked for, kept for the next time."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from tracekit.errors import InputError, TracekitError
from tracekit.tables.cache import Cache
from tracekit.tables.exports import ExportIndex, index, refusal
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.normalize import normalize
from tracekit.tables.schema import Schema, Source
from tracekit.tables.schemas import SCHEMAS

_COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3  # noqa: PLR2004  # a version


class MissingTableError(TracekitError, KeyError):
    """A table was asked for that no export of the run gives, or that does not exist."""

    def __str__(self) -> str:
        """Return the sentence, not its repr, as KeyError would."""
        return self.message


class Tables(Mapping[str, pd.DataFrame]):
    """The normalized tables of a folder of exports, by name.

    Each is read at its first use. A frame belongs to its caller: changing it changes no other.
    `warnings` grows with what readers have to say: damage, drift, rows left out.
    """

    def __init__(self, exports: Path, targets: frozenset[int], cache: Path | None = None) -> None:
        """Look at the exports, without reading them yet.

        Args:
            exports: The folder with the exports of one trace.
            targets: The pids of the recorded processes; their rows have `target` set.
            cache: Where to keep what was read, as Parquet; None keeps nothing.
        """
        self._folder = exports
        self._targets = targets
        self._cache = Cache(cache)
        self._index: ExportIndex = index(exports)
        self._flats: dict[str, pd.DataFrame] = {}
        self._tables: dict[str, pd.DataFrame] = {}
        self._warnings = dict.fromkeys(_left_out(path) for path in self._index.strange)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What readers said of the tables that were read so far."""
        return tuple(self._warnings)

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of all exports there are, whether a table is made of them or not."""
        return tuple(sorted(self._index.schemas))

    def raw(self, schema: str) -> pd.DataFrame:
        """Return the flat table of any exported schema, as `read_table` gives it.

        Raises:
            MissingTableError: There is no export of it.
            InputError: The export cannot be read, or two exports have the same schema.
        """
        if schema not in self._index.schemas:
            near = difflib.get_close_matches(schema, self.schemas)
            raise MissingTableError(
                f"There is no export of {schema} in {self._folder}.",
                hint=f"There are {', '.join(near or self.schemas) or 'none at all'}.",
            )
        if schema not in self._flats:
            flat = self._flat(schema)
            self._warnings |= dict.fromkeys((*flat.damage, *flat.drift))
            self._flats[schema] = flat.frame
        return _handed_out(self._flats[schema])

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table; raise MissingTableError where no export gives it."""
        if name not in SCHEMAS:
            near = difflib.get_close_matches(name, SCHEMAS, cutoff=0.4)
            raise MissingTableError(
                f"There is no table {name!r}.", hint=f"Near are {', '.join(near or SCHEMAS)}."
            )
        if name not in self._tables:
            self._tables[name] = self._normalized(SCHEMAS[name])
        return _handed_out(self._tables[name])

    def __contains__(self, name: object) -> bool:
        """Tell whether an export gives the table, without reading it."""
        return isinstance(name, str) and name in SCHEMAS and self._source(SCHEMAS[name]) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the tables that are there, in the order of SCHEMAS."""
        return (name for name in SCHEMAS if name in self)

    def __len__(self) -> int:
        """Count the tables that are there."""
        return sum(1 for _ in self)

    def _source(self, schema: Schema) -> Source | None:
        return next((one for one in schema.sources if one.schema in self._index.schemas), None)

    def _normalized(self, schema: Schema) -> pd.DataFrame:
        source = self._source(schema)
        if source is None:
            schemas = " or ".join(one.schema for one in schema.sources)
            raise MissingTableError(
                f"The table {schema.name} is not there: no export of {schemas} is in "
                f"{self._folder}.",
                hint=f"Export {schemas}, with a template that records it.",
            )
        table, warnings = normalize(self.raw(source.schema), schema, source, self._targets)
        self._warnings |= dict.fromkeys(warnings)
        return table

    def _flat(self, schema: str) -> Flat:
        file, *others = files = self._index.schemas[schema]
        if others:
            raise InputError(
                f"{self._folder} has {len(files)} exports of {schema}: "
                f"{', '.join(file.name for file in files)}.",
                hint="Keep those of one recording in a folder.",
            )
        flat = self._cache.load(file, schema)
        if flat is None:
            flat = read_flat(file, schema)
            self._cache.save(file, schema, flat)
        return flat


def _left_out(path: Path) -> str:
    return f"{path.name} is left out: {refusal(path).message}"


def _handed_out(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.copy(deep=not _COPY_ON_WRITE)
