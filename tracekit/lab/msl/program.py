"""A compiled kernel, and running it on arrays."""

import ctypes
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import KernelError, UsageError
from tracekit.lab.msl.binding import Bound, bind
from tracekit.lab.msl.edits import Edited
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.library import Buffer, Counts, Entry, Library, Request
from tracekit.lab.msl.messages import located, named
from tracekit.lab.msl.signature import Parameter
from tracekit.lab.msl.statistics import Order, Statistics, Traffic

Triple = tuple[int, int, int]

MOST_THREADS = 1024
_WHERE = "Compile it with checked=True to learn where."
_LARGEST = 2**32 - 1


class Program:
    """A kernel that is compiled for this processor.

    Attributes:
        kernel: What it was compiled from.
        parameters: Of the kernel function, in its order.
        checked: Whether accesses are checked and counted.
    """

    def __init__(
        self,
        kernel: Kernel,
        parameters: tuple[Parameter, ...],
        library: Library,
        entry: Entry,
        text: Edited,
        *,
        number: int,
        checked: bool,
    ) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self.checked = checked
        self._library, self._entry = library, entry
        self._texts = {number: (kernel, text)}

    def run(
        self,
        buffers: Mapping[str, NDArray[Any] | float],
        *,
        grid: Triple,
        threadgroup: Triple,
        order: Order = Order.ASCENDING,
        seed: int = 0,
        threadgroup_bytes: Mapping[int, int] | None = None,
        workers: int | None = None,
        lenient: bool = False,
        patience: float = 600.0,
    ) -> Statistics:
        """Run the kernel over a grid; what it writes is written into the arrays.

        Args:
            buffers: An array for each buffer, by the parameter's name: contiguous, of the dtype
                that the kernel declares. numpy has no bfloat16: give its bits as uint16. A
                number will do for what the kernel only reads.
            grid: Threads along x, y and z; as `dispatchThreads`, so the last threadgroups may be
                smaller.
            threadgroup: Threads of a threadgroup along x, y and z.
            order: In which order threads run between two places where they meet.
            seed: Of the random order.
            threadgroup_bytes: Sizes of threadgroup memory passed as an argument, by its number.
            workers: How many threadgroups run at once; by default as many as there are
                processors to run on.
            lenient: Let a simdgroup operation be reached by some lanes only, as Metal does.
            patience: Seconds after which a kernel is stopped: some never end.

        Raises:
            KernelError: A divergent barrier or simdgroup operation, an access out of bounds, too
                much threadgroup memory or stack, a division by zero, or no end.
            UsageError: The arrays or sizes do not fit the kernel.
        """
        _check_sizes(grid, threadgroup)
        bound = bind(self.parameters, self._entry, buffers, checked=self.checked,
                     kernel=self.kernel)  # fmt: skip
        sizes = threadgroup_bytes or {}
        request = Request(
            grid, threadgroup, list(Order).index(order), workers or processors(),
            seed % 2**64, lenient, len(bound.table), max(sizes, default=-1) + 1,
            (Buffer * len(bound.table))(*bound.table), _sizes(sizes),
        )  # fmt: skip
        counts, message = self._library.run(self._entry, request, patience)
        beside = bound.write_back()
        if message:
            raise self._error(message, patience)
        if beside:
            raise KernelError(
                f"{self.kernel.file} writes outside the buffer {beside!r}.", hint=_WHERE
            )
        return self._statistics(counts, bound)

    def _error(self, message: str, patience: float) -> KernelError:
        names = {one.index: one.name for one in self.parameters if one.kind == "buffer"}
        if message == "stopped":
            return KernelError(
                f"{self.kernel.file} did not end within {patience:g} s and was stopped.",
                hint="Threads that wait for each other without a barrier never meet here.",
            )
        told = located(named(message, lambda at: f"buffer {names.get(at, at)!r}"), self._texts)
        unchecked = "access of memory" in message and not self.checked
        hint = _WHERE if unchecked else ""
        return KernelError(f"{self.kernel.file}: {told}", hint=hint)

    def _statistics(self, counts: Counts, bound: Bound) -> Statistics:
        traffic: dict[str, Traffic] = {}
        if self.checked:
            for one in self.parameters:
                if one.name in bound.touched and not one.is_reference:
                    moved = counts.traffic[one.index]
                    touched = int(np.bitwise_count(bound.touched[one.name]).sum(dtype=np.int64))
                    traffic[one.name] = Traffic(
                        moved.loaded, moved.stored, touched, moved.referenced
                    )
        return Statistics(
            counts.barriers, counts.simd_operations, counts.threadgroup_bytes, counts.switches,
            traffic, counts.partial_simd_operations,
        )  # fmt: skip


def processors() -> int:
    """Count the processors that this process may run on."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _sizes(sizes: Mapping[int, int]) -> Any:
    count = max(sizes, default=-1) + 1
    return (ctypes.c_size_t * max(1, count))(*(sizes.get(at, 0) for at in range(count)))


def _check_sizes(grid: Triple, threadgroup: Triple) -> None:
    for what, sizes in (("grid", grid), ("threadgroup", threadgroup)):
        if len(sizes) != 3 or not all(0 < size <= _LARGEST for size in sizes):  # noqa: PLR2004
            raise UsageError(
                f"The {what} is {sizes}; it must be three numbers of threads, none of them 0."
            )
    x, y, z = map(min, grid, threadgroup)
    if x * y * z > MOST_THREADS:
        raise UsageError(
            f"A threadgroup of {x} x {y} x {z} has {x * y * z} threads; "
            f"Metal allows {MOST_THREADS} at most."
        )
