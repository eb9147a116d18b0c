"""The tables of a run, and those that the analysis makes itself.

A metric, a rule or a panel asks for either kind by name. What is made of the provenance is there
from the start; what is made of other tables is made when somebody asks, once. So are `remarks`,
which tells what readers of the exports had to say, and `settings`, which tells how instruments
were set.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache

import pandas as pd

from tracekit.analysis.capture import capture_table, remarks_table, settings_table
from tracekit.analysis.counters.samples import counter_means, counter_samples
from tracekit.analysis.idle.gaps import gaps_table, loaded_table
from tracekit.analysis.idle.known import causes_table
from tracekit.analysis.inject import REMARKS, Unavailable, asked_tables, inject
from tracekit.analysis.lost import damaged, gone
from tracekit.analysis.machine import machine_table
from tracekit.analysis.rhythm.happenings import happenings
from tracekit.analysis.target import share, targets_table
from tracekit.base.recording import Provenance
from tracekit.tables.tables import Tables

OF_PROVENANCE: Mapping[str, Callable[[Provenance], pd.DataFrame]] = {
    "targets": targets_table,
    "machine": machine_table,
    "capture": capture_table,
}
DERIVED: Mapping[str, Callable[..., pd.DataFrame]] = {
    "loaded": loaded_table,
    "gaps": gaps_table,
    "causes": causes_table,
    "happenings": happenings,
    "counter_samples": counter_samples,
    "counter_means": counter_means,
}
SETTINGS = "settings"
GIVEN = frozenset({*OF_PROVENANCE, *DERIVED, REMARKS, SETTINGS})


class Given(Mapping[str, pd.DataFrame]):
    """The tables of a recording, and what the analysis knows besides.

    Who asks for a table twice gets the same frame twice, and so leaves it as it is.
    A table that cannot be made raises Unavailable, with the reason, as often as it is asked for.
    """

    def __init__(
        self,
        tables: Mapping[str, pd.DataFrame],
        provenance: Provenance,
        used: Collection[str] = (),
        *,
        part: bool = False,
    ) -> None:
        """Take the tables; `remarks` speaks of those that are `used` and of all others read.

        In a `part` of a recording no table is missed that another one speaks of.
        """
        self._tables = tables
        self._part = part
        self._used = used
        self._made = {name: make(provenance) for name, make in OF_PROVENANCE.items()}
        self._read: dict[str, pd.DataFrame] = {}
        self._reasons: dict[str, Unavailable] = {}
        self._lost: dict[str, str] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name in DERIVED and name not in self._made:
            self._make(name)
        if name in {REMARKS, SETTINGS} and name not in self._made:
            self._made[name] = self._of_exports(name)
        if name not in self._made and name not in self._read:
            self._read[name] = share(self._tables[name].copy(deep=False))
        return self._made[name] if name in self._made else self._read[name]

    def lost(self, name: str) -> str:
        """Say why nothing may be made of a table of the recording; "" where nothing is wrong."""
        if name in GIVEN or self._part:
            return ""
        if name not in self._lost:
            self._lost[name] = damaged(name, self._tables) or gone(name, self._tables)
        return self._lost[name]

    def __iter__(self) -> Iterator[str]:
        yield from OF_PROVENANCE
        yield from DERIVED
        yield from self._read_from_exports
        yield from self._tables

    def __len__(self) -> int:
        made = len(OF_PROVENANCE) + len(DERIVED) + len(self._read_from_exports)
        return made + len(self._tables)

    @property
    def _read_from_exports(self) -> tuple[str, ...]:
        return (REMARKS, SETTINGS) if isinstance(self._tables, Tables) else ()

    def _of_exports(self, name: str) -> pd.DataFrame:
        if not isinstance(self._tables, Tables):
            raise KeyError(name)
        if name == SETTINGS:
            return settings_table(self._tables)
        return remarks_table(self._tables, self._used)

    def _make(self, name: str) -> None:
        if name in self._reasons:
            raise self._reasons[name]
        try:
            self._made[name] = inject(DERIVED[name], self)
        except Unavailable as reason:
            self._reasons[name] = reason
            raise


@lru_cache(maxsize=512)
def recorded_tables(function: Callable[..., object]) -> frozenset[str]:
    """Return the names of the recording's tables that the function makes use of, derived or not."""
    found: set[str] = set()
    for name in asked_tables(function):
        found |= recorded_tables(DERIVED[name]) if name in DERIVED else {name}
    return frozenset(found - OF_PROVENANCE.keys() - {REMARKS, SETTINGS})
