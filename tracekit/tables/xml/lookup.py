"""Which values the repeats in some rows mean."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.heap import Growing
from tracekit.tables.xml.gathered import KINDS, NOTHING, Gathered
from tracekit.tables.xml.ids import UNKNOWN, Ids, Numbers
from tracekit.tables.xml.malformed import BadRowError, MalformedError

_MOST_VALUES = (1 << 31) - 1


class Found(NamedTuple):
    """The values that the repeats of a block mean, and those that it defines itself."""

    first: int  # the number of its first value
    codes: Numbers  # the types of its values
    cells: Numbers  # by row and column
    repeats: Numbers  # within compounds

    def parts(self, parts: Sequence[int]) -> Numbers:
        """Return the values of parts as `Gathered` notes them, `NOTHING` for null."""
        numbers = np.array(parts, np.int64)
        values = np.where(numbers >= 0, numbers + self.first, NOTHING)
        repeated = numbers < NOTHING
        values[repeated] = self.repeats.take(NOTHING - 1 - numbers[repeated])
        return values


class Lookup:
    """The ids and the types of all values of a document."""

    def __init__(self) -> None:
        """Begin without values."""
        self.codes: Growing[np.int32] = Growing(np.int32)
        self._ids = Ids()
        self._tags: defaultdict[str, int] = defaultdict(count().__next__)
        self._coded(tuple(KINDS))

    def are(self, values: Numbers, kind: str) -> NDArray[np.bool_]:
        """Tell which values are of a kind."""
        codes = [self._tags[tag] for tag, one in KINDS.items() if one == kind]
        return np.isin(among(self.codes, values), codes)

    def _coded(self, tags: Sequence[str]) -> Numbers:
        return np.fromiter(map(self._tags.__getitem__, tags), np.int64, len(tags))

    def find(self, gathered: Gathered) -> Found:
        """Look up what rows repeat.

        Raises:
            BadRowError: A repeat names no value before it, or one of another type.
            MalformedError: There are more values than can be counted here.
        """
        first, codes = self.codes.size, self._coded(gathered.tags)
        if first + codes.size > _MOST_VALUES:
            raise MalformedError(f"there are more than {_MOST_VALUES} values")
        refs = gathered.cells
        repeats = refs.is_valid().to_numpy(zero_copy_only=False)
        own = np.full(len(refs), NOTHING, np.int64)
        own[~repeats] = gathered.own
        after = np.concatenate((np.maximum.accumulate(own)[repeats] + 1, _after(gathered)))
        wanted = pa.concat_arrays([refs.drop_null(), pa.array(gathered.repeats, pa.string())])
        values = np.arange(first, first + codes.size)
        ids = gathered.ids
        if None in ids:
            values = values[[one is not None for one in ids]]
        targets, forget = self._ids.resolve(
            [one for one in ids if one is not None], values, wanted, after + first
        )
        expected = self._expected(gathered, repeats)
        said = np.where(
            targets < first,
            among(self.codes, targets),
            codes.take(targets - first, mode="clip") if codes.size else UNKNOWN,
        )
        bad = np.flatnonzero((targets == UNKNOWN) | (said != expected))
        if bad.size:
            forget()
            raise self._bad_row(gathered, repeats, wanted, bad, said)
        outer = int(np.count_nonzero(repeats))
        cells = np.where(own < 0, own, own + first)
        cells[repeats] = targets[:outer]
        return Found(first, codes, cells, targets[outer:])

    def _expected(self, gathered: Gathered, repeats: NDArray[np.bool_]) -> Numbers:
        """Return the types under which repeats stand."""
        rows = len(gathered.cells) // len(gathered.columns)
        expected = np.tile(self._coded(gathered.columns), rows)
        if gathered.strange:
            places, tags = zip(*gathered.strange, strict=True)
            expected[list(places)] = self._coded(tags)
        codes = self._coded([tag for _, _, tag in gathered.runs])
        return np.concatenate((expected[repeats], np.repeat(codes, _counts(gathered))))

    def _bad_row(
        self,
        gathered: Gathered,
        repeats: NDArray[np.bool_],
        wanted: pa.Array,
        bad: Numbers,
        said: Numbers,
    ) -> BadRowError:
        width = len(gathered.columns)
        own = np.array(gathered.own, np.int64)
        compounds = np.searchsorted(own[own >= 0], _after(gathered))
        inner = np.flatnonzero(~repeats)[own >= 0].take(compounds)
        rows = np.concatenate((np.flatnonzero(repeats), inner)) // width
        worst = int(bad[np.argmin(rows[bad])])
        names = {code: tag for tag, code in self._tags.items()}
        tag = names[int(self._expected(gathered, repeats)[worst])]
        is_one = f"is a <{names[int(said[worst])]}>" if said[worst] >= 0 else ""
        what = f"a value that {is_one or 'was never defined'}"
        return BadRowError(int(rows[worst]), f'<{tag} ref="{wanted[worst]}"/> repeats {what}')


def _after(gathered: Gathered) -> Numbers:
    """Return how many values had ended before each repeat within a compound."""
    return np.repeat([after for after, _, _ in gathered.runs], _counts(gathered)).astype(np.int64)


def _counts(gathered: Gathered) -> Numbers:
    return np.array([count for _, count, _ in gathered.runs], np.int64)


def among(numbers: Growing[np.int32], places: Numbers) -> Numbers:
    """Return the numbers at some places, `NOTHING` for a place below 0."""
    if not numbers.size:
        return np.full(places.size, NOTHING, np.int64)
    found = numbers.array.take(places, mode="clip").astype(np.int64)
    return np.where(places < 0, NOTHING, found)
