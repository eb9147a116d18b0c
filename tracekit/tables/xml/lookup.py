"""What rows say, as lists; what they repeat is looked up afterwards, all at once.

Values have numbers in the order in which their elements end. A part of a compound is the number
of its value, or where it is a repeat -2 - k for the k-th repeat within compounds, or -1 for null.

xctrace counts ids from 1, so that a plain array by id knows where each value stands. An id that
is no such number, or far greater than the number of ids so far, is kept in a dictionary.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.xml.fast.definitions import Growing
from tracekit.tables.xml.node import STACK_TYPES
from tracekit.tables.xml.source import BadRowError, MalformedError

SENTINEL = "sentinel"
IDENTITIES = ("process", "thread")
NOTHING = -1
ADDRESSES = -1
KINDS = {
    **dict.fromkeys(IDENTITIES, "identity"),
    **dict.fromkeys(STACK_TYPES, "stack"),
    **{tag: tag for tag in ("frame", "binary", "source")},
}


class Gathered:
    """The values, cells and repeats of some rows, in the order of the document."""

    def __init__(self, columns: Sequence[str]) -> None:
        """Take the tags that the columns declare."""
        self.columns = list(columns)
        self.lines: list[int] = []  # of rows
        self.repeated: list[pa.Array] = []  # by cells, null where they repeat nothing
        self.own: list[int] = []  # the values of those that are none
        self.strange: list[tuple[int, str]] = []  # cells under another tag than declared
        self.ids: list[str | None] = []
        self.tags: list[str] = []
        self.texts: list[str | None] = []
        self.links: list[tuple[int, int]] = []  # a value, its number among those of its kind
        self.repeats: list[str | None] = []  # those within compounds
        self.runs: list[tuple[int, int, str]] = []  # values before, so many repeats, their tag
        self.identities: list[tuple[int, int, int]] = []  # pid, tid, process
        self.binaries: list[tuple[str | None, ...]] = []
        self.sources: list[tuple[str | None, int]] = []  # line, path
        self.frames: list[tuple[str | None, str | None, int, int]] = []  # … binary, source
        self.frames_of_stacks: list[int] = []
        self.depths: list[int] = []  # of stacks; ADDRESSES where it is such
        self.addresses: list[list[int]] = []  # the program counter first
        self.wrapped: list[tuple[int, int]] = []  # a stack, the one that it is
        self.worded: list[tuple[int, list[int], str]] = []  # a text that follows from parts

    @property
    def cells(self) -> pa.Array:
        """What cells repeat, by row and column; null where they repeat nothing."""
        return pa.concat_arrays(self.repeated) if self.repeated else pa.nulls(0, pa.string())

    def cut(self, rows: int) -> None:
        """Forget all rows but the first ones."""
        cells = self.cells[: rows * len(self.columns)]
        self.lines, self.repeated = self.lines[:rows], [cells]
        del self.own[cells.null_count :]
        values = max(self.own, default=NOTHING) + 1
        for some in (self.ids, self.tags, self.texts):
            del some[values:]
        self.strange = [one for one in self.strange if one[0] < len(cells)]
        self.links = [one for one in self.links if one[0] < values]
        self.runs = [one for one in self.runs if one[0] < values]
        self.wrapped = [one for one in self.wrapped if one[0] < values]
        self.worded = [one for one in self.worded if one[0] < values]
        del self.repeats[sum(count for _, count, _ in self.runs) :]
        self._cut_kinds(Counter(KINDS[self.tags[value]] for value, _ in self.links))

    def _cut_kinds(self, left: Counter[str]) -> None:
        del self.identities[left["identity"] :], self.binaries[left["binary"] :]
        del self.sources[left["source"] :], self.frames[left["frame"] :]
        del self.depths[left["stack"] :]
        bare = self.depths.count(ADDRESSES)
        del self.addresses[bare:], self.frames_of_stacks[sum(self.depths) - bare * ADDRESSES :]


Numbers = NDArray[np.int64]

UNKNOWN = -1
_ODD = 1 << 48  # above all ids that are kept in the array
_SPARSEST = 8
_ROOM = 1 << 12
_LONGEST = 12
_ZERO = ord("0")
_TEN = 10


class Ids:
    """Which value each id stands for."""

    def __init__(self) -> None:
        """Begin without ids."""
        self._dense: Growing[np.int32] = Growing(np.int32)
        self._odd: Growing[np.int32] = Growing(np.int32)
        self._slots: dict[str, int] = {}
        self._count = 0

    def resolve(
        self,
        defined: Sequence[str],
        values: Numbers,
        repeated: pa.Array,
        after: Numbers,
    ) -> tuple[Numbers, "Undo"]:
        """Learn new definitions, and look up repeats that stand among them.

        Args:
            defined: The ids of the definitions, in the order in which they end.
            values: The numbers of their values, ascending.
            repeated: The ids that repeats name.
            after: Of each repeat the number that the next value after it has.

        Returns:
            The values that are repeated, `UNKNOWN` where none was defined before; and what
            forgets the definitions again.
        """
        slots = self._defined(defined)
        wanted = self._wanted(repeated)
        before = self._known(wanted)
        undo = Undo(self, slots, self._known(slots))
        self._learn(slots, values)
        if (undo.values == UNKNOWN).all() and (self._known(slots) == values).all():
            targets = self._known(wanted)
            targets[targets >= after] = UNKNOWN
            return targets, undo
        return _in_order(slots, values, wanted, after, before), undo

    def forget(self, undo: "Undo") -> None:
        """Undo the last `resolve`."""
        self._learn(undo.slots, undo.values)

    def _defined(self, ids: Sequence[str]) -> Numbers:
        self._count += len(ids)
        texts = pa.array(ids, pa.string())
        slots = _decimals(texts)
        limit = self._count * _SPARSEST + _ROOM
        if slots is None or self._slots or int(slots.max(initial=0)) >= limit:
            slots = np.array([self._slot(text, limit) for text in ids], np.int64)
        dense = slots[slots < _ODD]
        _fill(self._dense, int(dense.max(initial=0)) + 1)
        _fill(self._odd, len(self._slots))
        return slots

    def _slot(self, text: str, limit: int) -> int:
        slot = self._slots.get(text)
        if slot is None:
            number = int(text) if _is_decimal(text) else limit
            slot = number if number < limit else _ODD + len(self._slots)
            if slot >= _ODD:
                self._slots[text] = slot
        return slot

    def _wanted(self, texts: pa.Array) -> Numbers:
        slots = None if self._slots else _decimals(texts)
        if slots is None:
            slots = np.array([self._found(text) for text in texts.to_pylist()], np.int64)
        return slots

    def _found(self, text: str) -> int:
        slot = self._slots.get(text)
        if slot is None:
            return int(text) if _is_decimal(text) else _ODD - 1
        return slot

    def _known(self, slots: Numbers) -> Numbers:
        known = np.full(slots.size, UNKNOWN, np.int64)
        dense = slots < self._dense.size
        if dense.all():
            return self._dense.array.take(slots).astype(np.int64)
        known[dense] = self._dense.array.take(slots[dense])
        odd = slots >= _ODD
        known[odd] = self._odd.array.take(slots[odd] - _ODD)
        return known

    def _learn(self, slots: Numbers, values: Numbers) -> None:
        odd = slots >= _ODD
        if not odd.any():
            self._dense.array[slots] = values
            return
        self._dense.array[slots[~odd]] = values[~odd]
        self._odd.array[slots[odd] - _ODD] = values[odd]


class Undo:
    """What ids stood for before a block defined them."""

    def __init__(self, ids: Ids, slots: Numbers, values: Numbers) -> None:
        """Take the places of the ids, and their values."""
        self._ids = ids
        self.slots = slots
        self.values = values

    def __call__(self) -> None:
        """Forget what the block defined."""
        self._ids.forget(self)


def _in_order(
    slots: Numbers, values: Numbers, wanted: Numbers, after: Numbers, before: Numbers
) -> Numbers:
    """Look repeats up among definitions that replace one another, each by the last before it."""
    different, ranks = np.unique(slots, return_inverse=True)
    span = int(max(values.max(), after.max(initial=0))) + 1
    keys = np.sort(ranks * span + values)
    rank = np.minimum(np.searchsorted(different, wanted), different.size - 1)
    place = np.searchsorted(keys, rank * span + after) - 1
    found = keys.take(np.maximum(place, 0))
    here = (place >= 0) & (different.take(rank) == wanted) & (found // span == rank)
    return np.where(here, found % span, before)


def _decimals(texts: pa.Array) -> Numbers | None:
    """Return ids as numbers, or None where one is not written as a plain number."""
    if not len(texts):
        return np.zeros(0, np.int64)
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    lengths = np.diff(offsets)
    if not 0 < int(lengths.min()) <= int(lengths.max()) <= _LONGEST:
        return None
    octets = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    digits = octets - np.uint8(_ZERO)
    leading = (digits.take(offsets[:-1] - offsets[0]) == 0) & (lengths > 1)
    if (digits >= _TEN).any() or leading.any():
        return None
    return texts.cast(pa.int64()).to_numpy()


def _is_decimal(text: str) -> bool:
    plain = text.isascii() and text.isdigit() and len(text) <= _LONGEST
    return plain and (text == "0" or text[0] != "0")


def _fill(growing: Growing[np.int32], size: int) -> None:
    if size > growing.size:
        growing.extend(np.full(size - growing.size, UNKNOWN, np.int32))


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
