"""Labels: texts made of typed parts, which stand in an array of types and values.

Most rows of a table of the GPU have a label of their own, so labels are made a column of parts at
a time: those with the same sequence of types together. Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.cells import blocks
from tracekit.tables.bundle.cells.encodings import (
    ALL_64,
    Encoding,
    EngineeringType,
    engineering_type,
)
from tracekit.tables.bundle.cells.number_texts import joined, reordered
from tracekit.tables.bundle.cells.values import Values
from tracekit.tables.bundle.cells.wording import NOTHING
from tracekit.tables.bundle.container.uniquer import Numbers, Ragged
from tracekit.tables.bundle.errors import DamagedCellError

_DEEPEST = 8
_LONGEST = 1 << 12  # parts of one label
_MOST_TEXT = 1 << 27  # of the labels that are made at once
_MOST_NESTED = 1 << 14  # calls for labels within labels
_PAIR = 2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ALL_ONES = np.uint64(ALL_64)


class Labels:
    """The labels of a run, by the numbers of their typed arrays."""

    def __init__(self, run: BundleRun, values: Values) -> None:
        """Take the run, and what turns the values of its parts into texts."""
        self._run = run
        self._values = values
        self._nested = 0

    def texts(self, ids: Numbers, depth: int = 0) -> pa.Array:
        """Return labels as texts.

        Raises:
            BundleError: The arrays are damaged.
            DamagedCellError: There is no such array, or a part is of no type, names what is not
                there, or lies too deep.
        """
        self._nested = self._nested + 1 if depth else 0
        if depth == _DEEPEST or self._nested > _MOST_NESTED:
            raise DamagedCellError("holds labels that are nested too deeply")
        parts = [self._block(ids[block], depth) for block in blocks(ids.size)]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.string())

    def single(self, ids: Numbers) -> tuple[pa.Array, frozenset[str]]:
        """Return cells of any type, each an array of one part: their texts, and their tags.

        Numbers stand as an export writes them, not as a label words them. What `texts` raises is
        raised, and DamagedCellError where there are several parts.
        """
        pairs = self.parts(ids)
        if not (pairs.lengths == _PAIR).all():
            raise DamagedCellError("names a value of several parts where one belongs")
        types, stored = pairs.values[::_PAIR], pairs.values[1::_PAIR]
        parts: list[tuple[Numbers, pa.Array]] = []
        tags: set[str] = set()
        for number in np.unique(types).tolist():
            places, kind = np.flatnonzero(types == number), self.type_of(number)
            nulls = (stored[places] == _ALL_ONES) & (not kind.wide_ones)
            known, nothing = places[~nulls], places[nulls]
            tags |= {kind.tag} if known.size else set()
            plainly = replace(kind, tag="") if kind.encoding is Encoding.INTEGER else kind
            parts += [(known, self._known(plainly, stored[known], 0))]
            parts += [(nothing, pa.nulls(nothing.size, pa.string()))] if nothing.size else []
        return reordered(parts) if parts else pa.array([], pa.string()), frozenset(tags)

    def parts(self, ids: Numbers) -> Ragged:
        """Return types and values of labels, one after the other; raise what `texts` raises."""
        found = self._run.typed_arrays.take(ids)
        lengths = found.lengths
        if lengths.size and ((lengths % _PAIR).any() or int(lengths.max()) > _PAIR * _LONGEST):
            raise DamagedCellError("names a label whose parts are not whole, or too many")
        return found

    def type_of(self, number: int) -> EngineeringType:
        """Return the type of a part by its number; raise DamagedCellError if there is none."""
        if number >= len(self._run.types):
            raise DamagedCellError("has a part of a type that the bundle does not list")
        return engineering_type(self._run.types[number], self._run.required)

    def _block(self, ids: Numbers, depth: int) -> pa.Array:
        found = self.parts(ids)
        texts = [(places, self._group(_members(found, places), depth)) for places in _groups(found)]
        return reordered(texts)

    def _group(self, members: NDArray[np.uint64], depth: int) -> pa.Array:
        """Return the labels of one sequence of types; each row of `members` is one of them."""
        columns: list[pa.Array | str] = []
        rows, size = len(members), 0
        for column in range(0, members.shape[1], _PAIR):
            texts = self._part(int(members[0, column]), members[:, column + 1], depth)
            size += len(texts) * rows if isinstance(texts, str) else texts.nbytes
            if size > _MOST_TEXT:
                raise DamagedCellError("holds labels of more text than a recording can have")
            columns.append(texts)
        same = [one for one in columns if isinstance(one, str)]
        return (
            pa.repeat(" ".join(same), rows) if len(same) == len(columns) else joined(columns, " ")
        )

    def _part(self, number: int, values: NDArray[np.uint64], depth: int) -> pa.Array | str:
        """Return the texts of a part; a `str` where all are the same."""
        kind = self.type_of(number)
        if (values == values[0]).all():
            return self._texts(kind, values[:1], depth)[0].as_py()
        return self._texts(kind, values, depth)

    def _texts(self, kind: EngineeringType, values: NDArray[np.uint64], depth: int) -> pa.Array:
        nulls = values == _ALL_ONES
        if kind.wide_ones or not nulls.any():
            found = self._known(kind, values, depth)
        else:
            known = np.flatnonzero(~nulls)
            nothing = np.flatnonzero(nulls)
            texts = self._known(kind, values[known], depth)
            found = reordered([(known, texts), (nothing, pa.repeat(NOTHING, nothing.size))])
        return found.fill_null(NOTHING) if found.null_count else found

    def _known(self, kind: EngineeringType, values: NDArray[np.uint64], depth: int) -> pa.Array:
        if kind.encoding in {Encoding.LABEL, Encoding.ANY}:
            return self.texts(as_ids(values), depth + 1)
        return self._values.worded(kind, values)


def as_ids(values: NDArray[np.uint64]) -> Numbers:
    """Return values as the numbers of arrays; raise DamagedCellError where they can be none."""
    if values.size and int(values.max()) >= 1 << 32:
        raise DamagedCellError("names what the bundle does not hold")
    return values.astype(np.int64)


def _members(found: Ragged, places: Numbers) -> NDArray[np.uint64]:
    length = int(found.lengths[places[0]])
    first = found.offsets[:-1].take(places)
    return found.values.take(first[:, None] + np.arange(length))


def _groups(found: Ragged) -> Iterator[Numbers]:
    """Yield the places of labels that have the same sequence of types."""
    keys = _keys(found)
    uniques, places = np.unique(keys, return_inverse=True)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=uniques.size))
    for group in np.split(order, ends[:-1]):
        yield from _alike(found, group)


def _keys(found: Ragged) -> NDArray[np.uint64]:
    """Return a number for each label that is the same where the sequence of types is."""
    lengths = found.lengths
    keys = lengths.astype(np.uint64)
    for column in range(0, int(lengths.max(initial=0)), _PAIR):
        longer = np.flatnonzero(lengths > column)
        types = found.values.take(found.offsets[:-1].take(longer) + column)
        keys[longer] = (keys[longer] ^ types) * _MULTIPLIER
    return keys


def _alike(found: Ragged, group: Numbers) -> Iterator[Numbers]:
    """Part a group again where different sequences happen to have the same number."""
    while group.size:
        lengths = found.lengths.take(group)
        alike = lengths == lengths[0]
        same = group[alike]
        types = _members(found, same)[:, ::_PAIR]
        equal = (types == types[0]).all(axis=1)
        yield same[equal]
        group = np.concatenate((group[~alike], same[~equal]))
