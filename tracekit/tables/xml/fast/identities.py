"""The pids of processes and the tids of threads, by the ids of their definitions."""

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.xml.fast.definitions import Definitions
from tracekit.tables.xml.fast.elements import Elements
from tracekit.tables.xml.fast.heap import Growing
from tracekit.tables.xml.fast.irregular import demand
from tracekit.tables.xml.fast.names import Vocabulary
from tracekit.tables.xml.fast.tokens import Positions

Ids = NDArray[np.int64]


class Identities:
    """Processes with their pids; threads with their tids and pids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Begin with none."""
        self._process, self._thread = vocabulary.code("process"), vocabulary.code("thread")
        self._pid, self._tid = vocabulary.code("pid"), vocabulary.code("tid")
        self._processes, self._pids = Growing(np.int64), Growing(np.int64)
        self._threads, self._tids = Growing(np.int64), Growing(np.int64)
        self._owners = Growing(np.int64)

    def add(self, elements: Elements, definitions: Definitions) -> None:
        """Add those that a block defines, after its other definitions.

        Raises:
            IrregularError: A process does not begin with its pid, or a thread with its tid and
                its process.
        """
        codes, ids, tokens = elements.codes, elements.ids, elements.tokens
        defined = codes.take(elements.definitions)
        processes = elements.definitions[defined == self._process]
        threads = elements.definitions[defined == self._thread]
        if processes.size:
            pids = self._parts(elements, processes, processes + 1, self._pid)
            self._processes.extend(ids.take(processes))
            self._pids.extend(definitions.values.array.take(pids))
        if threads.size:
            tids = self._parts(elements, threads, threads + 1, self._tid)
            second = threads + 2 + tokens.leaf.take(threads + 1)
            owners = self._parts(elements, threads, second, self._process)
            self._threads.extend(ids.take(threads))
            self._tids.extend(definitions.values.array.take(tids))
            self._owners.extend(self.pids(owners))

    def pids(self, processes: Ids) -> Ids:
        """Return the pids of processes by their ids; 0 for the id 0."""
        return _looked_up(self._processes.array, self._pids.array, processes)

    def tids(self, threads: Ids) -> Ids:
        """Return the tids of threads by their ids; 0 for the id 0."""
        return _looked_up(self._threads.array, self._tids.array, threads)

    def owners(self, threads: Ids) -> Ids:
        """Return the pids of threads by their ids; 0 for the id 0."""
        return _looked_up(self._threads.array, self._owners.array, threads)

    def _parts(self, elements: Elements, parents: Positions, places: Positions, code: int) -> Ids:
        places = np.minimum(places, elements.codes.size - 1)
        inside = elements.tokens.levels.take(places) == elements.tokens.levels.take(parents) + 1
        right = (elements.codes.take(places) == code) & ~elements.tokens.closing.take(places)
        ids = elements.ids.take(places)
        demand((inside & right & (ids > 0)).all(), "a process or a thread of other parts")
        return ids


def _looked_up(keys: Ids, numbers: Ids, wanted: Ids) -> Ids:
    if not keys.size:
        return np.zeros(wanted.size, np.int64)
    places = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    found = keys.take(places) == wanted
    demand((found | (wanted == 0)).all(), "a process or a thread without its parts")
    return np.where(found, numbers.take(places), 0)
