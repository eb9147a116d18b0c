"""The addresses that stacks consist of, taken out of the arrays of a run.

Layout: docs/explanation/trace-bundles.md. A backtrace is an array of chunks, each of which names a
process and an array of addresses, the leaf first; a callstack names one array of addresses and has
its program counter beside.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.bundle.cells.encodings import ALL_32, ALL_64
from tracekit.tables.bundle.container.uniquer import Arrays, Numbers, Ragged
from tracekit.tables.bundle.errors import DamagedCellError

NO_PROCESS = -1
_DEEPEST = 1 << 14
_LOW = np.uint64(ALL_32)
_ALL_ONES = np.uint64(ALL_64)
_HALF = np.uint64(32)
_KERNEL = np.uint64(1 << 55)  # of an address of arm64: whose half of the address space it is in
_USER = np.uint64((1 << 47) - 1)
_CALLSTACK = 3  # fragment, program counter, process; then registers


@dataclass(frozen=True, eq=False)
class Backtraces:
    """Addresses of stacks, and beside each the process that it is of, `NO_PROCESS` for none."""

    addresses: Ragged
    pids: Numbers


@dataclass(frozen=True, eq=False)
class Callstacks:
    """Return addresses of stacks; beside each stack its program counter and what else it has.

    `pids` are `NO_PROCESS` where none is known; `has_pc` tells where there is a program counter.
    """

    fragments: Ragged
    pcs: NDArray[np.uint64]
    has_pc: NDArray[np.bool_]
    pids: Numbers
    registers: Numbers

    def stacks(self) -> Ragged:
        """Return the stacks: the program counter first, without the zeros that close them."""
        return _without_closing_zeros(self._with_pcs())

    def texts(self) -> list[str]:
        """Return what an export says of each."""
        rows = zip(
            self.pcs.tolist(),
            self.has_pc.tolist(),
            self.fragments.lengths.tolist(),
            self.registers.tolist(),
            self.pids.tolist(),
            strict=True,
        )
        return [
            callstack_words(pc if has_pc else None, depth, registers, pid)
            for pc, has_pc, depth, registers, pid in rows
        ]

    def _with_pcs(self) -> Ragged:
        offsets = self.fragments.offsets + np.concatenate(([0], np.cumsum(self.has_pc)))
        values = np.empty(int(offsets[-1]), np.uint64)
        rest = np.ones(values.size, np.bool_)
        fronts = offsets[:-1][self.has_pc]
        rest[fronts] = False
        values[fronts] = self.pcs[self.has_pc]
        values[rest] = self.fragments.values
        return Ragged(offsets, values)


def callstack_words(pc: int | None, depth: int, registers: int, pid: int) -> str:
    """Return what an export says of a callstack; None and `NO_PROCESS` are left out."""
    at = "" if pc is None else f"PC:{pc:#x}, "
    of = "" if pid == NO_PROCESS else f", pid: {pid}"
    return f"{at}{depth} frames, {registers} regs{of}"


def backtraces(arrays: Arrays, ids: Numbers) -> Backtraces:
    """Return the stacks of backtraces, by the numbers of their arrays.

    A part that is all ones ends a list of chunks.

    Raises:
        BundleError: The arrays are damaged.
        DamagedCellError: There is no such array, or it is no backtrace.
    """
    chunks = _chunks(arrays.take(ids))
    parts = arrays.take((chunks.values & _LOW).astype(np.int64))
    addresses = Ragged(parts.offsets.take(chunks.offsets), _plain(parts.values))
    _require_depth(addresses)
    owners = _pids(arrays, (chunks.values >> _HALF).astype(np.int64))
    return Backtraces(addresses, np.repeat(owners, parts.lengths))


def untagged(arrays: Arrays, ids: Numbers) -> Numbers:
    """Return the backtraces that tagged ones wrap; raise what `backtraces` raises."""
    found = arrays.take(ids)
    if bool((found.lengths < 1).any()):
        raise DamagedCellError("names an array that is no tagged backtrace")
    inner = found.values[found.offsets[:-1]]
    if inner.size and int(inner.max()) > int(_LOW):
        raise DamagedCellError("names an array that is no tagged backtrace")
    return inner.astype(np.int64)


def callstacks(arrays: Arrays, ids: Numbers) -> Callstacks:
    """Return the stacks that the kernel's profiler took; raise what `backtraces` raises."""
    found = arrays.take(ids)
    if bool((found.lengths < _CALLSTACK).any()):
        raise DamagedCellError("names an array that is no callstack")
    fragments, pcs, owners = (found.values[found.offsets[:-1] + part] for part in range(3))
    taken = _taken(arrays, fragments)
    _require_depth(taken)
    return Callstacks(
        taken,
        pcs,
        pcs != _ALL_ONES,
        _pids(arrays, np.minimum(owners, _LOW).astype(np.int64)),
        found.lengths - _CALLSTACK,
    )


def text_symbols(arrays: Arrays, ids: Numbers) -> tuple[Numbers, NDArray[np.uint64]]:
    """Return process and address of text symbols; raise what `backtraces` raises."""
    found = arrays.take(ids)
    if bool((found.lengths != 2).any()):  # noqa: PLR2004  # process, address
        raise DamagedCellError("names an array that is no text symbol")
    pairs = found.values.reshape(-1, 2)
    owners = np.minimum(pairs[:, 0], _LOW).astype(np.int64)
    return _pids(arrays, owners), _plain(pairs[:, 1])


def in_kernel(addresses: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which addresses are the kernel's."""
    return (addresses & _KERNEL) != 0


def _plain(addresses: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return addresses without the bits that authenticate pointers of user space."""
    return np.where(in_kernel(addresses), addresses, addresses & _USER)


def _chunks(found: Ragged) -> Ragged:
    ends = (found.values & _LOW) == _LOW
    if not ends.any():
        return found
    before = np.concatenate(([0], np.cumsum(ends)))
    kept = before[1:] == np.repeat(before.take(found.offsets[:-1]), found.lengths)
    counted = np.concatenate(([0], np.cumsum(kept)))
    return Ragged(counted.take(found.offsets), found.values[kept])


def _taken(arrays: Arrays, fragments: NDArray[np.uint64]) -> Ragged:
    """Return arrays; those whose number is all ones of either width are empty."""
    there = np.flatnonzero((fragments != _ALL_ONES) & (fragments != _LOW))
    wanted = fragments[there]
    if wanted.size and int(wanted.max()) > int(_LOW):
        raise DamagedCellError("names an array that the bundle does not hold")
    taken = arrays.take(wanted.astype(np.int64))
    lengths = np.zeros(fragments.size, np.int64)
    lengths[there] = taken.lengths
    return Ragged(np.concatenate(([0], np.cumsum(lengths))), taken.values)


def _pids(arrays: Arrays, owners: Numbers) -> Numbers:
    distinct, places = np.unique(owners, return_inverse=True)
    there = distinct != int(_LOW)
    taken = arrays.take(distinct[there])
    if bool((taken.lengths < 1).any()):
        raise DamagedCellError("names an array that is no process")
    stored = taken.values[taken.offsets[:-1]]
    pids = np.full(distinct.size, NO_PROCESS, np.int64)
    pids[there] = np.where(stored <= _LOW, stored, _LOW).astype(np.int64)
    pids[pids == int(_LOW)] = NO_PROCESS
    return pids.take(places)


def _require_depth(stacks: Ragged) -> None:
    if stacks.lengths.size and int(stacks.lengths.max()) > _DEEPEST:
        raise DamagedCellError(f"names a stack of more than {_DEEPEST:,} frames")


def _without_closing_zeros(stacks: Ragged) -> Ragged:
    filled = np.flatnonzero(stacks.values)
    starts = stacks.offsets[:-1]
    last = np.searchsorted(filled, stacks.offsets[1:]) - 1
    ends = filled[last] + 1 if filled.size else np.zeros(starts.size, np.int64)
    lengths = np.where(last >= 0, np.maximum(ends - starts, 0), 0)
    kept = np.arange(stacks.values.size) < np.repeat(starts + lengths, stacks.lengths)
    return Ragged(np.concatenate(([0], np.cumsum(lengths))), stacks.values[kept])
