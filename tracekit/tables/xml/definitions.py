"""What a document has defined so far, and the cells of its rows by it.

A value costs some twenty bytes beside its text: what it is, where its text ends, its number
among the processes and threads, stacks or frames.
"""

import numpy as np
import pyarrow as pa

from tracekit.tables.xml.fast.heap import Growing, TextHeap
from tracekit.tables.xml.gathered import KINDS, NOTHING, Gathered
from tracekit.tables.xml.ids import Numbers
from tracekit.tables.xml.lookup import Found, Lookup, among
from tracekit.tables.xml.stacks import Parts, Stacks
from tracekit.tables.xml.symbols import Symbols


class Definitions:
    """The values of a document, by the number in which they ended."""

    def __init__(self) -> None:
        """Begin without values."""
        self._lookup = Lookup()
        self._links: Growing[np.int32] = Growing(np.int32)
        self._texts = TextHeap()
        self._known: Growing[np.bool_] = Growing(np.bool_)
        self._pids: Growing[np.int32] = Growing(np.int32)
        self._tids: Growing[np.int32] = Growing(np.int32)
        self._stacks = Stacks()

    def read(self, gathered: Gathered) -> Numbers:
        """Take rows, all or none; return the values of their cells, by row and column.

        Raises:
            BadRowError: One repeats a value that was not defined.
        """
        found = self._lookup.find(gathered)
        self._keep(gathered, found)
        return found.cells

    def texts(self, values: Numbers) -> pa.Array:
        """Return the texts of values, null where there is no value or it has none."""
        return self._texts.take(self._valued(values))

    def cells(self, values: Numbers) -> pa.Array:
        """Return the same, as a dictionary where long texts are repeated often."""
        return self._texts.cells(self._valued(values))

    def _valued(self, values: Numbers) -> pa.Array:
        nulls = values < 0
        nulls |= ~self._known.array.take(values, mode="clip") if self._known.size else True
        return pa.array(values, mask=nulls)

    def pids(self, values: Numbers) -> pa.Array:
        """Return the pids beside processes and threads."""
        return self.texts(among(self._pids, self._numbers(values, "identity")))

    def tids(self, values: Numbers) -> pa.Array:
        """Return the tids beside threads."""
        return self.texts(among(self._tids, self._numbers(values, "identity")))

    def stacks(self, values: Numbers) -> pa.Array:
        """Return the numbers of stacks, null where no frame of it is known."""
        numbers = self._numbers(values, "stack")
        return pa.array(numbers, mask=numbers < 0)

    def symbols(self) -> Symbols:
        """Return the stacks so far."""
        return self._stacks.symbols()

    def _numbers(self, values: Numbers, kind: str) -> Numbers:
        """Return which ones of that kind values are; `NOTHING` where they are of another."""
        return np.where(self._lookup.are(values, kind), among(self._links, values), NOTHING)

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
            bases = np.array([counts[kind] for kind in KINDS.values()])
            values, numbers = np.array(gathered.links, np.int64).T
            links[values] = numbers + bases.take(found.codes.take(values))
        self._lookup.codes.extend(found.codes.astype(np.int32))
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
        self._pids.array[first + threads] = among(self._pids, processes)

    def _stack(self, gathered: Gathered, found: Found) -> None:
        frames = gathered.frames
        self._stacks.add(
            gathered,
            Parts(
                among(self._links, found.parts([binary for _, _, binary, _ in frames])),
                among(self._links, found.parts([source for _, _, _, source in frames])),
                among(self._links, found.parts(gathered.frames_of_stacks)),
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
            text = None
            for _, value, old in zip(some, values, older, strict=False):
                if text is None:
                    text = old if value < found.first else gathered.texts[value - found.first]
            gathered.texts[place] = f"{text or ''}{rest}" or gathered.texts[place]
