"""Arrays that grow at their end, and a heap of texts."""

from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.generic)
_FIRST = 1 << 12


class Growing(Generic[_Number]):
    """An array that grows at its end; `resize` moves its pages instead of copying them."""

    def __init__(self, dtype: type[_Number]) -> None:
        """Begin without elements."""
        self.size = 0
        self._array: NDArray[_Number] = np.zeros(_FIRST, dtype)

    @property
    def array(self) -> NDArray[_Number]:
        """The elements; they stay where they are only until the next ones come."""
        return self._array[: self.size]

    def extend(self, numbers: NDArray[_Number]) -> None:
        """Add numbers at the end."""
        end = self.size + numbers.size
        if end > self._array.size:
            # Nothing else may hold this memory: callers keep no view beyond the next call.
            self._array.resize(max(end, self._array.size * 3 // 2), refcheck=False)
        self._array[self.size : end] = numbers
        self.size = end


class TextHeap:
    """Texts by number, in the order in which they came."""

    def __init__(self) -> None:
        """Begin without texts."""
        self._bytes = Growing(np.uint8)
        self._offsets = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))

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

    def take(self, numbers: pa.Array) -> pa.Array:
        """Return the texts with these numbers, null where a number is."""
        heap = pa.LargeStringArray.from_buffers(
            len(self), pa.py_buffer(self._offsets.array), pa.py_buffer(self._bytes.array)
        )
        return heap.take(numbers).cast(pa.string())
