"""Values of one type as texts: as a label words them, and as an export writes them plainly.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.cells import signed
from tracekit.tables.bundle.cells.encodings import ALL_32, ALL_64, Encoding, EngineeringType
from tracekit.tables.bundle.cells.identities import Identities
from tracekit.tables.bundle.cells.number_texts import hexadecimal, joined, plain
from tracekit.tables.bundle.cells.wording import PRIVATE, decimal, uuids, worded
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import DamagedCellError

Stored = NDArray[np.uint64]

_HALF = np.uint64(32)
_LOW = np.uint64(ALL_32)
_HALVES = 2


class Values:
    """Turns stored numbers into texts. None of them may be null."""

    def __init__(self, run: BundleRun, texts: pa.Array, identities: Identities) -> None:
        """Take the run, its texts, its processes and threads."""
        self._arrays = run.arrays
        self._texts = texts
        self._identities = identities

    def worded(self, kind: EngineeringType, stored: Stored) -> pa.Array:
        """Return texts for people; null where nothing is known of a value.

        Raises:
            BundleError: The arrays are damaged.
            DamagedCellError: There is no such text or array, or it is not what it must be.
        """
        if kind.tag == "private":
            return pa.repeat(PRIVATE, stored.size)
        match kind.encoding:
            case Encoding.INTEGER if kind.tag == "core":
                return self._identities.cores(stored.tolist())
            case Encoding.INTEGER:
                return worded(kind.tag, stored)
            case Encoding.RATIO:
                return joined([plain(stored >> _HALF), plain(stored & _LOW)], "/")
            case Encoding.DECIMAL:
                return pa.array(map(decimal, signed(stored.copy()).tolist()), pa.string())
            case _:
                return self._named(kind, stored)

    def _named(self, kind: EngineeringType, stored: Stored) -> pa.Array:
        """Return the texts of values that name others: each is looked up once."""
        coded = pa.array(stored).dictionary_encode()
        found = coded.dictionary.to_numpy()
        match kind.encoding:
            case Encoding.STRING:
                texts = self.strings(found)
            case Encoding.PROCESS:
                texts = self._identities.processes(_ids(found)).texts
            case Encoding.THREAD:
                texts = self._identities.threads(_ids(found)).texts
            case Encoding.UUID:
                texts = self.uuids(_ids(found))
            case Encoding.LOCATION:
                texts = self.locations(found)
            case Encoding.THREAD_NAME:
                texts = self.thread_names(found)
            case Encoding.NUMBERS:
                texts = self.numbers(_ids(found))
            case _:
                texts = pa.nulls(found.size, pa.string())
        return texts.take(coded.indices)

    def strings(self, stored: Stored | Numbers) -> pa.Array:
        """Return the texts of these numbers; raise DamagedCellError if there is no such text."""
        if stored.size and int(stored.max()) >= len(self._texts):
            raise DamagedCellError("names a text that the bundle does not hold")
        return self._texts.take(pa.array(stored))

    def uuids(self, ids: Numbers) -> pa.Array:
        """Return UUIDs as texts; raise what `worded` raises."""
        halves = self._arrays.take(ids)
        if not (halves.lengths == _HALVES).all():
            raise DamagedCellError("names an array that is no UUID")
        return uuids(halves.values)

    def locations(self, stored: Stored) -> pa.Array:
        """Return places in binaries, such as "UUID + 0x201e64"; raise what `worded` raises."""
        images = (stored >> _HALF).astype(np.int64)
        return joined([self.uuids(images), hexadecimal(stored & _LOW)], " + ")

    def numbers(self, ids: Numbers) -> pa.Array:
        """Return arrays of numbers, with a space between them; raise what `worded` raises."""
        found = self._arrays.take(ids)
        lists = pa.ListArray.from_arrays(
            pa.array(found.offsets, pa.int32()), pa.array(found.values).cast(pa.string())
        )
        return pc.call_function("binary_join", [lists, pa.scalar(" ")])

    def thread_names(self, stored: Stored) -> pa.Array:
        """Return names of threads with their tids, either of which may be missing.

        Where both are, the text is empty. What `worded` raises is raised.
        """
        names, threads = stored >> _HALF, stored & _LOW
        texts = joined([_where(names, self.strings), _where(threads, self._tids)], "  ")
        nothing = pa.array(stored == ALL_64)
        return pc.call_function("if_else", [nothing, pa.scalar(""), texts])

    def _tids(self, stored: Stored) -> pa.Array:
        tids = self._identities.threads(stored.astype(np.int64)).tids
        return hexadecimal(tids.astype(np.uint64))


def _where(halves: Stored, texts: Callable[[Stored], pa.Array]) -> pa.Array:
    """Return the texts of halves; that of all ones is empty."""
    known = halves != _LOW
    found = texts(halves[known])
    places = np.where(known, np.cumsum(known) - 1, len(found))
    return pa.concat_arrays([found, pa.array([""])]).take(pa.array(places))


def _ids(stored: Stored) -> Numbers:
    if stored.size and int(stored.max()) > _LOW:
        raise DamagedCellError("names an array that the bundle does not hold")
    return stored.astype(np.int64)
