"""Arrays that grow at their end, and a heap of texts."""

from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.long_texts import AT_ONCE, LONG, refused

MOST_PLAIN = 1 << 30  # bytes of long texts that stand one behind the other
_Number = TypeVar("_Number", bound=np.generic)
_FIRST = 1 << 12


class Growing(Generic[_Number]):
    """An array that grows at its end."""

    def __init__(self, dtype: type[_Number], most: int = 0) -> None:
        """Begin without elements.

        Args:
            dtype: What the elements are.
            most: How many there can be at most, where that is known. Memory is then reserved
                for all of them; the system gives it when it is first written to.
        """
        self.size = 0
        self._array: NDArray[_Number] = _reserved(dtype, most)

    @property
    def array(self) -> NDArray[_Number]:
        """The elements; they stay where they are only until the next ones come."""
        return self._array[: self.size]

    def extend(self, numbers: NDArray[_Number]) -> None:
        """Add numbers at the end."""
        end = self.size + numbers.size
        if end > self._array.size:
            # Nothing else may hold this memory: callers keep no view beyond the next call.
            self._array.resize(max(end, self._array.size * 9 // 8 + _FIRST), refcheck=False)
        self._array[self.size : end] = numbers
        self.size = end


def _reserved(dtype: type[_Number], most: int) -> NDArray[_Number]:
    try:
        return np.empty(max(most, _FIRST), dtype)
    except MemoryError:
        return np.empty(_FIRST, dtype)


class TextHeap:
    """Texts by number, in the order in which they came."""

    def __init__(self, most_bytes: int = 0, most_texts: int = 0) -> None:
        """Begin without texts; the limits are those of `Growing`."""
        self._bytes = Growing(np.uint8, most_bytes)
        self._offsets = Growing(np.int64, most_texts + 1)
        self._offsets.extend(np.zeros(1, np.int64))
        self._longest = 0

    def __len__(self) -> int:
        """Count the texts."""
        return self._offsets.size - 1

    def extend(self, texts: pa.Array) -> None:
        """Add texts (a string array without nulls) at the end."""
        offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        content = texts.buffers()[2]
        if content is not None and last > first:
            beginning = self._bytes.size
            self._bytes.extend(np.frombuffer(content, np.uint8)[first:last])
        else:
            beginning = self._bytes.size
        self._offsets.extend(offsets[1:].astype(np.int64) + (beginning - first))
        self._longest = max(self._longest, int(np.diff(offsets).max(initial=0)))

    def take(self, numbers: pa.Array) -> pa.Array:
        """Return the texts with these numbers, null where a number is.

        Raises:
            InputError: Long ones are repeated so often that they are too much to hold.
        """
        if self._long(numbers) > MOST_PLAIN:
            raise refused("The export")
        return self._take(numbers)

    def cells(self, numbers: pa.Array) -> pa.Array:
        """Return the texts with these numbers, each once in a dictionary where that is needed.

        Raises:
            InputError: They are too much to hold even so.
        """
        if self._long(numbers) <= AT_ONCE:
            return self._take(numbers)
        coded = numbers.dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices, self.take(coded.dictionary))

    def _take(self, numbers: pa.Array) -> pa.Array:
        heap = pa.LargeStringArray.from_buffers(
            len(self), pa.py_buffer(self._offsets.array), pa.py_buffer(self._bytes.array)
        )
        return heap.take(numbers).cast(pa.string())

    def _long(self, numbers: pa.Array) -> int:
        """Count the bytes of the long texts among those with these numbers."""
        if self._longest <= LONG:
            return 0
        offsets, known = self._offsets.array, numbers.drop_null().to_numpy()
        sizes = offsets.take(known + 1) - offsets.take(known)
        return int(sizes[sizes > LONG].sum())
