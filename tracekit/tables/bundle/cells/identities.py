"""Processes and threads of a run: what their arrays say, and the texts of the export.

Layout: docs/explanation/trace-bundles.md.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.about.names import UNKNOWN, Names, names_of
from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.cells import Flags
from tracekit.tables.bundle.cells.encodings import ALL_64
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import DamagedCellError

_LISTED = 5
_PARTS = 2  # of a process: pid, session; of a thread: tid, process


@dataclass(frozen=True, eq=False)
class Processes:
    """Processes: their texts, null where their pids are not `known`."""

    texts: pa.Array
    pids: Numbers
    known: Flags


@dataclass(frozen=True, eq=False)
class Threads:
    """Threads: their texts and tids, and the processes that they are of."""

    texts: pa.Array
    tids: Numbers
    known: Flags
    pids: Numbers
    owned: Flags


class Identities:
    """The processes and threads of a run, by the numbers of their arrays."""

    def __init__(self, run: BundleRun) -> None:
        """Take the run; names are looked up when the first is needed."""
        self._run = run
        self._arrays = run.arrays
        self._unnamed: dict[str, set[int]] = {"processes": set(), "threads": set()}

    def processes(self, ids: Numbers) -> Processes:
        """Return processes.

        Raises:
            BundleError: The arrays are damaged.
            DamagedCellError: There is no such array, or it is that of no process.
        """
        pids, known = _numbers(self._pairs(ids)[:, 0])
        pairs = zip(pids.tolist(), known.tolist(), strict=True)
        names = names_of(self._run) if ids.size else Names()
        texts = [names.process_with_pid(pid) if there else None for pid, there in pairs]
        self._unnamed["processes"] |= set(pids[known].tolist()) - names.processes.keys()
        return Processes(pa.array(texts, pa.string()), pids, known)

    def threads(self, ids: Numbers) -> Threads:
        """Return threads; raise what `processes` raises."""
        pairs = self._pairs(ids)
        tids, known = _numbers(pairs[:, 0])
        owners, owned = _numbers(pairs[:, 1])
        pids = np.zeros(ids.size, np.int64)
        pids[owned], alive = _numbers(self._pairs(owners[owned])[:, 0])
        owned[owned] = alive
        found = zip(tids.tolist(), pids.tolist(), (known & owned).tolist(), strict=True)
        names = names_of(self._run) if ids.size else Names()
        texts = [names.thread_with_tid(tid, pid) if there else None for tid, pid, there in found]
        self._unnamed["threads"] |= set(tids[known].tolist()) - names.threads.keys()
        self._unnamed["processes"] |= set(pids[owned].tolist()) - names.processes.keys()
        return Threads(pa.array(texts, pa.string()), tids, known, pids, owned)

    def cores(self, numbers: list[int]) -> pa.Array:
        """Return the names of cores, such as "CPU 6 (P Core)"; raise BundleError if damaged."""
        return pa.array(map(names_of(self._run).core, numbers), pa.string())

    @property
    def remarks(self) -> tuple[str, ...]:
        """How many processes and threads have been asked for that nothing in the bundle names."""
        return tuple(
            f"{len(found):,} {what} that rows name have no name in the bundle, and are called "
            f"{UNKNOWN}: {_listed(found)}"
            for what, found in self._unnamed.items()
            if found
        )

    def _pairs(self, ids: Numbers) -> NDArray[np.uint64]:
        found = self._arrays.take(ids)
        if found.lengths.size and not (found.lengths == _PARTS).all():
            raise DamagedCellError("names an array that is no process or thread")
        return found.values.reshape(-1, _PARTS)


def _listed(numbers: set[int]) -> str:
    first = ", ".join(map(str, sorted(numbers)[:_LISTED]))
    return first if len(numbers) <= _LISTED else f"{first}, …"


def _numbers(stored: NDArray[np.uint64]) -> tuple[Numbers, Flags]:
    known = stored != ALL_64
    return np.where(known, stored, 0).astype(np.int64), known
