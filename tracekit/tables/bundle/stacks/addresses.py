"""The addresses that stacks consist of, taken out of the arrays of a run.

Layout: docs/explanation/trace-bundles.md. A backtrace is an array of chunks, each of which names a
process and an array of addresses, the leaf first; a callstack names one array of addresses and has
its program counter beside.
"""

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


def callstack_words(pc: int | None, depth: int, registers: int, pid: int) -> str:
    """Return what an export says of a callstack; None and `NO_PROCESS` are left out."""
    at = "" if pc is None else f"PC:{pc:#x}, "
    of = "" if pid == NO_PROCESS else f", pid: {pid}"
    return f"{at}{depth} frames, {registers} regs{of}"


def backtraces(arrays: Arrays, ids: Numbers) -> tuple[Ragged, Numbers]:
    """Return the addresses of backtraces, and beside each its process, `NO_PROCESS` for none.

    A part that is all ones ends a list of chunks.
    """
    chunks = _chunks(arrays.take(ids))
    parts = arrays.take((chunks.values & _LOW).astype(np.int64))
    addresses = Ragged(parts.offsets.take(chunks.offsets), _plain(parts.values))
    _require_depth(addresses)
    owners = _pids(arrays, (chunks.values >> _HALF).astype(np.int64))
    return addresses, np.repeat(owners, parts.lengths)


def untagged(arrays: Arrays, ids: Numbers) -> Numbers:
    """Return the backtraces that tagged ones wrap; raise what `backtraces` raises."""
    inner = _parts(arrays.take(ids), 1, "tagged backtrace")[0]
    if inner.size and int(inner.max()) > int(_LOW):
        raise DamagedCellError("names an array that is no tagged backtrace")
    return inner.astype(np.int64)


def callstacks(arrays: Arrays, ids: Numbers) -> tuple[Ragged, list[str], NDArray[np.bool_]]:
    """Return the stacks that the kernel's profiler took; raise what `backtraces` raises.

    The program counter stands first, and the zeros that close a stack are left out. Beside stand
    what an export says of each, and whether there is a stack at all.
    """
    found = arrays.take(ids)
    fragments, pcs, owners = _parts(found, _CALLSTACK, "callstack")
    taken = _taken(arrays, fragments)
    _require_depth(taken)
    has_pc = pcs != _ALL_ONES
    rows = zip(
        pcs.tolist(),
        has_pc.tolist(),
        taken.lengths.tolist(),
        (found.lengths - _CALLSTACK).tolist(),
        _pids(arrays, np.minimum(owners, _LOW).astype(np.int64)).tolist(),
        strict=True,
    )
    texts = [
        callstack_words(pc if there else None, depth, registers, pid)
        for pc, there, depth, registers, pid in rows
    ]
    values = np.insert(taken.values, taken.offsets[:-1][has_pc], pcs[has_pc])
    offsets = taken.offsets + np.concatenate(([0], np.cumsum(has_pc)))
    stacks = _without_closing_zeros(Ragged(offsets, values))
    return stacks, texts, has_pc | (taken.lengths > 0)


def text_symbols(arrays: Arrays, ids: Numbers) -> tuple[Numbers, NDArray[np.uint64]]:
    """Return process and address of text symbols; raise what `backtraces` raises."""
    pairs = arrays.take(ids).pairs("text symbol")
    owners = np.minimum(pairs[:, 0], _LOW).astype(np.int64)
    return _pids(arrays, owners), _plain(pairs[:, 1])


def in_kernel(addresses: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which addresses are the kernel's."""
    return (addresses & _KERNEL) != 0


def _parts(found: Ragged, count: int, what: str) -> list[NDArray[np.uint64]]:
    """Return the first numbers of arrays; raise DamagedCellError if one has too few."""
    if bool((found.lengths < count).any()):
        raise DamagedCellError(f"names an array that is no {what}")
    return [found.values[found.offsets[:-1] + part] for part in range(count)]


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
    stored = _parts(taken, 1, "process")[0]
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
