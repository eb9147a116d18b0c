"""What a document has defined so far, and the cells of its rows by it.

A value costs some twenty bytes beside its text: what it is, where its text ends, its number
among the processes and threads, stacks or frames.
"""

import gc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]
from numpy.typing import NDArray

from tracekit.tables.xml.fast.heap import Growing, TextHeap
from tracekit.tables.xml.gather import IDENTITIES, NOTHING, Gathered
from tracekit.tables.xml.ids import UNKNOWN, Ids, Numbers
from tracekit.tables.xml.malformed import BadRowError
from tracekit.tables.xml.stacks import Parts, Stacks
from tracekit.tables.xml.symbols import STACK_TYPES, Symbols

_KINDS = {
    **dict.fromkeys(IDENTITIES, "identity"),
    **dict.fromkeys(STACK_TYPES, "stack"),
    **{tag: tag for tag in ("frame", "binary", "source")},
}


@contextmanager
def _no_search_for_garbage() -> Iterator[None]:
    """Elements by the thousand would start it again and again, and there are no cycles."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


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


class Definitions:
    """The values of a document, by the number in which they ended."""

    def __init__(self) -> None:
        """Begin without values."""
        self._ids = Ids()
        self._tags: defaultdict[str, int] = defaultdict(count().__next__)
        self._coded(tuple(_KINDS))
        self._codes: Growing[np.int32] = Growing(np.int32)
        self._links: Growing[np.int32] = Growing(np.int32)
        self._texts = TextHeap()
        self._known: Growing[np.bool_] = Growing(np.bool_)
        self._pids: Growing[np.int32] = Growing(np.int32)
        self._tids: Growing[np.int32] = Growing(np.int32)
        self._stacks = Stacks()

    def read(self, rows: Sequence[Element], columns: Sequence[str]) -> tuple[Gathered, Numbers]:
        """Take rows, all or none; return the values of their cells, by row and column.

        Raises:
            BadRowError: One breaks the grammar, or repeats a value that was not defined.
        """
        gathered = Gathered(columns)
        with _no_search_for_garbage():
            gathered.add(rows)
        found = self._find(gathered)
        self._keep(gathered, found)
        return gathered, found.cells

    def texts(self, values: Numbers) -> pa.Array:
        """Return the texts of values, null where there is no value or it has none."""
        nulls = values < 0
        nulls |= ~self._known.array.take(values, mode="clip") if self._known.size else True
        return self._texts.take(pa.array(values, mask=nulls))

    def pids(self, values: Numbers) -> pa.Array:
        """Return the pids beside processes and threads."""
        return self.texts(_among(self._pids, self._numbers(values, "identity")))

    def tids(self, values: Numbers) -> pa.Array:
        """Return the tids beside threads."""
        return self.texts(_among(self._tids, self._numbers(values, "identity")))

    def stacks(self, values: Numbers) -> pa.Array:
        """Return the numbers of stacks, null where no frame of it is known."""
        numbers = self._numbers(values, "stack")
        return pa.array(numbers, mask=numbers < 0)

    def symbols(self) -> Symbols:
        """Return the stacks so far."""
        return self._stacks.symbols()

    def _numbers(self, values: Numbers, kind: str) -> Numbers:
        """Return which ones of that kind values are; `NOTHING` where they are of another."""
        codes = [self._tags[tag] for tag, one in _KINDS.items() if one == kind]
        alike = np.isin(_among(self._codes, values), codes)
        return np.where(alike, _among(self._links, values), NOTHING)

    def _coded(self, tags: Sequence[str]) -> Numbers:
        return np.fromiter(map(self._tags.__getitem__, tags), np.int64, len(tags))

    def _find(self, gathered: Gathered) -> Found:
        first, codes = self._codes.size, self._coded(gathered.tags)
        refs = pa.array(gathered.cells, pa.string())
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
            _among(self._codes, targets),
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
        return np.concatenate((expected[repeats], self._coded(gathered.repeat_tags)))

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

    def _keep(self, gathered: Gathered, found: Found) -> None:
        self._link(gathered, found)
        self._word(gathered, found)
        texts = pa.array(gathered.texts, pa.string())
        self._known.extend(texts.is_valid().to_numpy(zero_copy_only=False))
        self._texts.extend(texts.fill_null("") if texts.null_count else texts)
        self._identify(gathered, found)
        if gathered.depths or gathered.frames or gathered.binaries or gathered.sources:
            self._stack(gathered, found)
        self._unwrap(gathered, found)

    def _link(self, gathered: Gathered, found: Found) -> None:
        links = np.full(found.codes.size, NOTHING, np.int32)
        if gathered.links:
            counts = {**self._stacks.counts, "identity": self._pids.size}
            bases = np.array([counts[kind] for kind in _KINDS.values()])
            values, numbers = np.array(gathered.links, np.int64).T
            links[values] = numbers + bases.take(found.codes.take(values))
        self._codes.extend(found.codes.astype(np.int32))
        self._links.extend(links)

    def _identify(self, gathered: Gathered, found: Found) -> None:
        if not gathered.identities:
            return
        pids, tids, owners = map(found.parts, zip(*gathered.identities, strict=True))
        self._pids.extend(pids.astype(np.int32))
        self._tids.extend(tids.astype(np.int32))
        threads = np.flatnonzero(owners >= 0)
        processes = self._numbers(owners[threads], "identity")
        first = self._pids.size - pids.size
        self._pids.array[first + threads] = _among(self._pids, processes)

    def _stack(self, gathered: Gathered, found: Found) -> None:
        _, _, binaries, sources = zip(*gathered.frames, strict=True) if gathered.frames else [()] * 4
        self._stacks.add(
            gathered,
            Parts(
                self._numbers(found.parts(binaries), "binary"),
                self._numbers(found.parts(sources), "source"),
                self._numbers(found.parts(gathered.frames_of_stacks), "frame"),
                self.texts(found.parts([path for _, path in gathered.sources])),
                self._addresses(gathered, found),
            ),
        )

    def _addresses(self, gathered: Gathered, found: Found) -> list[list[str]]:
        flat = [part for parts in gathered.addresses for part in parts]
        texts = iter(self.texts(found.parts(flat)).to_pylist())
        return [
            [one for _ in parts for one in (next(texts) or "").split()]
            for parts in gathered.addresses
        ]

    def _unwrap(self, gathered: Gathered, found: Found) -> None:
        links = self._links.array
        for value, part in gathered.wrapped:
            (inner,) = self._numbers(found.parts([part]), "stack").tolist()
            links[found.first + value] = inner

    def _word(self, gathered: Gathered, found: Found) -> None:
        """Write the texts of stacks that follow from what they consist of."""
        if not gathered.worded:
            return
        parts = found.parts([part for _, some, _ in gathered.worded for part in some])
        old = np.where(parts < found.first, parts, NOTHING)
        older = iter(self.texts(old).to_pylist())
        values = iter(parts.tolist())
        for place, some, rest in gathered.worded:
            said = [
                text if value < found.first else gathered.texts[value - found.first]
                for _, value, text in zip(some, values, older, strict=False)
            ]
            text = next((one for one in said if one is not None), None)
            gathered.texts[place] = f"{text or ''}{rest}" or gathered.texts[place]


def _after(gathered: Gathered) -> Numbers:
    """Return how many values had ended before each repeat within a compound."""
    runs = np.array(gathered.repeats_after, np.int64).reshape(-1, 2)
    return np.repeat(runs[:, 0], runs[:, 1])


def _among(numbers: Growing[np.int32], places: Numbers) -> Numbers:
    """Return the numbers at some places, `NOTHING` for a place below 0."""
    if not numbers.size:
        return np.full(places.size, NOTHING, np.int64)
    found = numbers.array.take(places, mode="clip").astype(np.int64)
    return np.where(places < 0, NOTHING, found)
