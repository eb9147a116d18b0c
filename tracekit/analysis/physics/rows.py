"""A table as the laws see it: its times, and the rows that are believed so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.analysis.intervals import NEVER, Times, heads_of
from tracekit.analysis.physics.laws import FEW, LAWS, Breach, Cost, Flags, Stake

Ids = NDArray[np.uint64]
Places = NDArray[np.intp]

STAKES = {
    "gpu_intervals": Stake.DEVICE,
    "completions": Stake.WAYS,
    "commits": Stake.WAYS,
    "submissions": Stake.WAYS,
    "encoders": Stake.ENCODING,
    "driver_intervals": Stake.WAYS,
    "driver_events": Stake.WAYS,
    "compiler_activity": Stake.ENCODING,
    "gpu_performance_states": Stake.STATES,
    "gpu_states": Stake.STATES,
    "gpu_counters": Stake.COUNTERS,
    "cpu_profile": Stake.SAMPLES,
}
"""The tables that are examined, each with the results that depend on its rows."""


@dataclass(eq=False)
class ExaminedTable:
    """A table whose rows are examined.

    The `credible` rows are believed so far, with their length if they have an end (`has_end`): a
    row whose length is not believed has none from then on. The `further` columns are those that
    only laws ask for; each is read when it is asked for.
    """

    table: str
    frame: pd.DataFrame
    start: Times
    end: Times
    credible: Flags
    has_end: Flags
    further: Mapping[str, pd.Series] = field(default_factory=dict[str, pd.Series])
    breaches: list[Breach] = field(default_factory=list[Breach])

    @classmethod
    def from_frame(
        cls, table: str, frame: pd.DataFrame, further: Mapping[str, pd.Series] | None = None
    ) -> "ExaminedTable":
        """Take a table; a row without a duration has no length."""
        name = "start" if "start" in frame else "time"
        start = times_of(frame, name)
        length = times_of(frame, "duration")
        known_length = np.where(length == NEVER, 0, length)
        end = start + known_length
        credible = np.ones(start.size, np.bool_)
        return cls(table, frame, start, end, credible, credible.copy(), further or {})

    def has(self, *columns: str) -> bool:
        """Return whether the table has all of the columns."""
        return all(column in self.frame or column in self.further for column in columns)

    def cells(self, column: str) -> pd.Series:
        """Return a column that the table has."""
        if column in self.frame:
            return self.frame[column]
        return self.further[column]

    @cached_property
    def is_of_the_device(self) -> Flags:
        """Whether each row is by the clock of a trace, not by that of a host or a workload.

        A table comes from one source, and has one clock.
        """
        clock = "gpu"
        if self.has("clock") and len(self.frame):
            clock = str(self.frame["clock"].iloc[0])
        return np.full(self.start.size, clock == "gpu")

    @cached_property
    def buffers(self) -> Ids:
        """The ids of command buffers; 0 for none."""
        return ids_of(self.frame, "command_buffer")

    def accuse(
        self,
        law: str,
        broken: Flags,
        *,
        population: int | None = None,
        excess: Times | None = None,
        witness: str = "",
        cost: Cost = Cost.ROW,
        rare_only: bool = False,
    ) -> None:
        """Leave out rows, or their lengths, that break a law; report the breach.

        `population` is the number of rows that could have broken it, `witness` the table that
        contradicts them: without one, only the row itself is wrong, however often. If too many rows
        contradict a witness, all of them stay. With `rare_only`, a law that many rows break is
        ignored.
        """
        if not broken.any():  # mostly, none is
            return
        is_accused = broken & self.credible & self.has_end
        places = np.flatnonzero(is_accused)
        if not places.size:
            return
        row_count = max(population or self.start.size, places.size)
        share = places.size / row_count
        many = share > FEW
        if many and rare_only:
            return
        if many and witness and places.size > 1:
            cost = Cost.NOTHING
        else:
            witness = ""
        row_excess = np.empty(0, np.int64)
        if excess is not None:
            row_excess = excess[places]
        start = self.start[places]
        end = self.end[places]
        breach = Breach(
            law=LAWS[law],
            table=self.table,
            start=start,
            end=end,
            stake=STAKES[self.table],
            share=share,
            excess=row_excess,
            cost=cost,
            witness=witness,
        )
        self.breaches.append(breach)
        if cost is Cost.ROW:
            self.credible[places] = False
        if cost is Cost.LENGTH:
            self.has_end[places] = False
            self.end[places] = self.start[places]

    def miss(self, law: str, followers: Places, count: int, numbered: int) -> None:
        """Report that `count` rows are missing right before the `followers`.

        `numbered` is the number of rows that are not missing.
        """
        starts = self.start[followers]
        breach = Breach(
            LAWS[law],
            self.table,
            starts,
            starts,
            STAKES[self.table],
            count / (count + numbered),
            cost=Cost.NOTHING,
            missing=count,
        )
        self.breaches.append(breach)


def ids_of(frame: pd.DataFrame, column: str) -> Ids:
    """Return a column of ids, with 0 for none."""
    if column not in frame:
        return np.zeros(len(frame), np.uint64)
    return frame[column].to_numpy(dtype=np.uint64, na_value=0)


def times_of(frame: pd.DataFrame, column: str) -> Times:
    """Return a column of times, with NEVER for null or without the column."""
    if column not in frame:
        return np.full(len(frame), NEVER)
    return frame[column].to_numpy(dtype=np.int64, na_value=NEVER)


@dataclass(frozen=True, eq=False)
class Moments:
    """One moment for each command buffer, by their ids.

    An id with several rows is left out, and is one of the `repeated` ids.
    """

    ids: Ids
    times: Times
    places: Places
    repeated: Ids = field(default_factory=lambda: np.empty(0, np.uint64))

    @classmethod
    def from_ids(cls, ids: Ids, times: Times, usable: Flags) -> "Moments":
        """Take one moment for each id; id 0 is none, and the moment NEVER is none."""
        places = np.flatnonzero(usable & (ids != 0) & (times != NEVER))
        row_ids = ids[places]
        again = np.zeros(places.size, np.bool_)
        is_not_ascending = row_ids[1:] <= row_ids[:-1]
        if is_not_ascending.any():
            places = places[np.argsort(row_ids, kind="stable")]
            row_ids = ids[places]
            again[1:] = row_ids[1:] == row_ids[:-1]
            again[:-1] |= again[1:]
        repeated = np.unique(row_ids[again])
        places = places[~again]
        return cls(ids[places], times[places], places, repeated)

    def look_up(self, ids: Ids) -> Times:
        """Return the moment of each of the ids, NEVER without one."""
        if not self.ids.size or not ids.size:
            return np.full(ids.size, NEVER)
        # Rows of one command buffer mostly follow one another, and all tables have the same ones.
        heads = heads_of(ids)
        distinct = ids[heads]
        if np.array_equal(distinct, self.ids):
            times = self.times
        else:
            id_places = np.searchsorted(self.ids, distinct)
            place = np.minimum(id_places, self.ids.size - 1)
            is_same_id = self.ids[place] == distinct
            times = np.where(is_same_id, self.times[place], NEVER)
        if heads.size == ids.size:
            return times
        run_bounds = np.append(heads, ids.size)
        run_lengths = np.diff(run_bounds)
        return np.repeat(times, run_lengths)


def first_moments(ids: Ids, times: Times, usable: Flags) -> Moments:
    """Return the first moment of each id."""
    places = np.flatnonzero(usable & (ids != 0))
    row_ids = ids[places]
    row_times = times[places]
    times_descend = (row_times[1:] < row_times[:-1]).any()
    if times_descend or (row_ids[1:] < row_ids[:-1]).any():
        order = np.lexsort((row_times, row_ids))
        row_ids = row_ids[order]
        places = places[order]
    heads = heads_of(row_ids)
    places = places[heads]
    return Moments(row_ids[heads], times[places], places)


def names_of(rows: ExaminedTable, columns: Sequence[str], places: Places) -> NDArray[np.int64]:
    """Return a number from 0 for each of the rows, the same for rows with the same cells."""
    numbers = np.zeros(places.size, np.int64)
    for column in columns:
        if rows.has(column):
            place_cells = rows.cells(column).take(places)
            codes, distinct = _encode(place_cells)
            combined_codes = numbers * (distinct + 1) + codes
            combined, _ = pd.factorize(combined_codes)
            numbers = combined.astype(np.int64)
    return numbers


def _encode(cells: pd.Series) -> tuple[NDArray[np.int64], int]:
    """Return a number from 0 for each cell, and the count of distinct ones; null counts, too."""
    if isinstance(cells.dtype, pd.StringDtype):
        text_array = pa.array(cells, pa.string(), from_pandas=True)
        texts = text_array.dictionary_encode("encode")
        return texts.indices.to_numpy().astype(np.int64), len(texts.dictionary)
    codes, distinct = pd.factorize(cells, use_na_sentinel=False)
    return codes.astype(np.int64), len(distinct)
